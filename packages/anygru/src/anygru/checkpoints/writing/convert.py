"""From one framework's checkpoint to another's, with the result verified before it takes its place."""

import os
from dataclasses import replace
from typing import Any

from ...errors import CheckpointError
from ..checkpoint import load_checkpoint
from ..conversion import Choices, Conversion
from ..formats import checked_path, format_for, is_folder, recognise
from ..formats.oneflow import put_in_place
from ..output.atomic import replacing
from ..reading.content import Progress
from ..reading.source import naming
from .cutting import recut
from .filling import fill
from .rewriting import check_place, rewrite


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    choices: Choices | None = None,
    *,
    progress: Progress | None = None,
    **named: Any,
) -> Conversion:
    """Convert a checkpoint, and verify the result by reading it back.

    Args:
        source: the file or folder to read.
        target: the file or folder to write.
        choices: the options.
        progress: called with the bytes written.
        named: options by their names in `Choices`, instead of `choices`.

    Returns:
        The report, with a verdict for each GRU.

    Raises:
        CheckpointError: the source is damaged, the target cannot hold something, or the result does not agree.
        TypeError: there is no option of that name.

    Example::

        convert("model.npz", "model.pt", mapping={"head.": "classifier."})
    """
    from ...facts.quantization import check_format
    from ..verify import verify

    choices = replace(choices or Choices(), **named)
    source, target = checked_path(source, "source"), checked_path(target, "target")
    if os.path.realpath(source) == os.path.realpath(target):
        raise CheckpointError(f"{target}: source and target are the same")
    checkpoint = load_checkpoint(
        source, choices.source_format, bidirectional=choices.bidirectional, sandbox=choices.sandbox
    )
    with naming(source):
        checkpoint = recut(checkpoint, choices.mapping)
    like, weights = choices.like, choices.weights
    name = choices.target_format or (recognise(like) if like is not None else format_for(target))
    if weights is not None:
        check_format(weights)
    if like is not None:
        _check_choices_of_copy(choices, name, target)
    check_place(target, name)
    with replacing(target, put_in_place if is_folder(name) else None) as unverified, naming(target, instead=unverified):
        if like is not None:
            report = fill(checkpoint, like, unverified, choices)
        else:
            report = rewrite(checkpoint, unverified, name, choices, progress)
        report.verdicts = verify(checkpoint, unverified, report, target, sandbox=like is not None and choices.sandbox)
    return report


def _check_choices_of_copy(choices: Choices, name: str, target: str) -> None:
    """Raise for a choice that a copy of a Keras file has no use for."""
    if choices.weights not in (None, "float32"):
        raise CheckpointError(f"{target}: a Keras file holds no {choices.weights} weights")
    if choices.provenance:
        raise CheckpointError(f"{target}: --provenance: a Keras file holds no metadata of anygru")
    for option in ("style", "transpose", "no_transpose", "layer_names", "layers"):
        if getattr(choices, option):
            raise CheckpointError(
                f"{target}: {option} has no meaning for a copy of a Keras file (--like), where the names stay"
            )
    if choices.like is not None and name != (own := recognise(choices.like)):
        raise CheckpointError(f"{target}: a copy of {os.fspath(choices.like)} is a file of {own}, not of {name}")
