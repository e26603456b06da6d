"""From one framework's checkpoint to another's, with the result verified before it takes its place."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path as FilePath
from typing import Any

from ..errors import CheckpointError
from .atomic import mode_of
from .checkpoint import load_checkpoint
from .content import Progress
from .formats import checked_path, format_for, is_folder
from .report import Report
from .rewriting import check_place, rewrite

__all__ = ["Report", "convert"]


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    approximate: bool = False,
    bidirectional: Collection[str] = (),
    style: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Convert a checkpoint, and verify the result by reading it back.

    Args:
        source: the file or folder to read.
        target: the file or folder to write.
        source_format, target_format: names of formats; None: by content, and by the target's ending.
        mapping: new names by old ones, applied to what is written: whole names, or names of layers and other prefixes
            that end before a separator. The longest one that fits counts.
        approximate: write what is not exact (biases added under reset="after", dtypes widened) and say so.
        bidirectional: see `load_checkpoint`.
        style: the name of the target's layout, where it has several.
        progress: called with the bytes written.

    Returns:
        What was done, with a verdict for each GRU.

    Raises:
        CheckpointError: the source is damaged, the target cannot hold something, or the result does not agree.
    """
    from .verify import verify

    source, target = checked_path(source, "source"), checked_path(target, "target")
    if os.path.realpath(source) == os.path.realpath(target):
        raise CheckpointError(f"{target}: source and target are the same")
    checkpoint = load_checkpoint(source, source_format, bidirectional=bidirectional)
    name = target_format or format_for(target)
    options: dict[str, Any] = {"mapping": mapping, "approximate": approximate, "style": style, "progress": progress}
    if is_folder(name):
        # a folder: it keeps its old state until the new one is whole, and cannot be put aside
        report = rewrite(checkpoint, target, name, **options)
        report.verdicts = verify(checkpoint, target, report)
        return report
    check_place(target, name)
    place = FilePath(os.path.realpath(target))  # behind a symbolic link, which stays
    unverified = place.with_name(f".{place.name}.unverified")
    try:
        report = rewrite(checkpoint, unverified, name, **options)
        report.verdicts = verify(checkpoint, unverified, report)
        os.chmod(unverified, mode_of(place))
        os.replace(unverified, place)
    finally:
        unverified.unlink(missing_ok=True)
    return report
