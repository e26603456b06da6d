"""From one framework's checkpoint to another's, with the result verified before it takes its place."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath

from ...errors import CheckpointError
from ..checkpoint import load_checkpoint
from ..formats import checked_path, format_for, is_folder, recognise
from ..formats.oneflow import put_in_place
from ..reading.content import Progress
from ..report import Report
from .atomic import mode_of, sync_folder
from .filling import fill
from .rewriting import Choices, check_place, rewrite


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
    transpose: Collection[str] = (),
    no_transpose: Collection[str] = (),
    layer_names: bool = False,
    like: str | os.PathLike[str] | None = None,
    weights: str | None = None,
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
        transpose: names, or patterns with * and ?, of tensors with two dimensions to transpose. Between Paddle and the
            others linear layers' weights that a bias identifies are transposed anyway; see `other_layers`.
        no_transpose: of tensors to leave as they are.
        like: a file of Keras; the target is a copy of it with the weights of the source, see `filling.fill`. The mapping
            then has names of GRUs in that file by those in the source.
        layer_names: write the parts of other layers under the names of the target's framework ("gamma", "W").
        weights: the format of the GRUs' matrices: "bfloat16" or "int8" writes frozen layers (to safetensors and torch
            files), "float32" plain ones; None: as they are in the source, if the target can hold them.
        progress: called with the bytes written.

    Returns:
        What was done, with a verdict for each GRU.

    Raises:
        CheckpointError: the source is damaged, the target cannot hold something, or the result does not agree.
    """
    from ...facts.quantization import check_format
    from ..verify import verify

    source, target = checked_path(source, "source"), checked_path(target, "target")
    if os.path.realpath(source) == os.path.realpath(target):
        raise CheckpointError(f"{target}: source and target are the same")
    checkpoint = load_checkpoint(source, source_format, bidirectional=bidirectional)
    name = target_format or (recognise(like) if like is not None else format_for(target))
    if weights is not None:
        check_format(weights)
        if like is not None and weights != "float32":
            raise CheckpointError(f"{target}: a Keras file holds no {weights} weights")
    choices = Choices(mapping or {}, approximate, style, transpose, no_transpose, layer_names, weights)
    check_place(target, name)
    place = FilePath(os.path.realpath(target))  # the target of a symbolic link; the link stays
    with _workplace(place, target) as workplace:
        unverified = workplace / "result"
        if like is not None:
            report = fill(checkpoint, like, unverified, choices.mapping)
        else:
            report = rewrite(checkpoint, unverified, name, choices, progress)
        report.verdicts = verify(checkpoint, unverified, report, target)
        _take_place(unverified, place, is_folder(name))
    return report


def _take_place(result: FilePath, place: FilePath, folder: bool) -> None:
    if folder:
        put_in_place(result, place)
        return
    os.chmod(result, mode_of(place))
    os.replace(result, place)
    sync_folder(place.parent)


@contextmanager
def _workplace(place: FilePath, target: str) -> Iterator[FilePath]:
    """A folder near the target that is gone afterwards.

    Its name cannot be guessed and only this user can write in it: nobody can plant a link there, and a second conversion
    to the same target has a folder of its own.
    """
    parent = next(folder for folder in place.parents if folder.is_dir())
    try:
        folder = tempfile.mkdtemp(prefix=".anygru-", dir=parent)
    except OSError as error:  # under the name that the caller knows
        raise OSError(error.errno, error.strerror, target) from None
    try:
        yield FilePath(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
