"""The formats of checkpoints, and finding out the format of a file.

Each format is one file here with the names of `Format`; see README.md for how to add one.
"""

import importlib
import os
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, cast

from ...errors import ArgumentTypeError, CheckpointError, near
from ..layout import CheckpointLayout
from ..reading.budget import Budget
from ..reading.content import Content, Progress
from ..reading.source import read_regular

NAMES = (
    "mxnet", "hdf5", "safetensors", "keras", "chainer", "torch", "oneflow", "rtneural", "torch_json", "onnx",
    "paddle_binary", "paddle",
)  # fmt: skip
"""All formats, the most specific content first: a pickle that matches no other format is read as Paddle's."""

READ_ONLY = {
    "paddle_binary": "the weights of a Paddle program are of use only beside the program: write a .pdparams file",
    "keras": "a Keras file holds a model beside its weights: write the weights into a copy of one with --like FILE",
    "onnx": "a checkpoint has no graph, so no ONNX model can be made of it: export the module with anygru.onnx.export",
}
"""Formats that are read and never written, with the reason and the way out."""

FORMATS_WITH_METADATA = ("safetensors",)
"""Formats with text metadata in addition to tensors."""

_HEAD = 4096


class Format(Protocol):
    """The names that the module of a format has.

    Attributes:
        NESTED: whether it holds nested dicts and lists, or a flat list of names.
        SUFFIXES: the endings of its files; ("",) for a folder.
        LAYOUT: how its framework writes GRUs.
        recognise: whether a file with these first bytes has the format; a folder's head is its list of
            names.
        read: returns a file's content, and counts its memory.
        write: writes a content to a path; calls its third argument with the bytes written.
        problem: the reason why a value cannot be written, or None.

    Some have more: `note`, a fact about a file that is written, and `keeps_layers`, whether it holds the order of layers (see
    `stack`).
    """

    NESTED: ClassVar[bool]
    SUFFIXES: ClassVar[tuple[str, ...]]
    LAYOUT: ClassVar[tuple[CheckpointLayout, ...]]
    recognise: Callable[[bytes], bool]
    read: Callable[[str | os.PathLike[str], Budget], Content]
    write: Callable[[str | os.PathLike[str], Content, Progress | None], None]
    problem: Callable[[Any], str | None]


def format_module(name: str) -> Format:
    """Return a format's module.

    Raises:
        CheckpointError: there is no such format.
    """
    if name not in NAMES:
        raise CheckpointError(f"format {name!r} is unknown; known are {', '.join(sorted(NAMES))}")
    return cast(Format, importlib.import_module(f".{name}", __package__))


def is_folder(name: str) -> bool:
    """Return whether a checkpoint of this format is a folder."""
    return format_module(name).SUFFIXES == ("",)


def recognise(path: str | os.PathLike[str]) -> str:
    """Name the format of a file or folder, by its content.

    Raises:
        CheckpointError: it cannot be read, or is of no known format.
    """
    path = checked_path(path)
    head = _read_head(path)
    for name in NAMES:
        if format_module(name).recognise(head):
            return name
    known = f"is a checkpoint of no known format ({', '.join(NAMES)})"
    if os.path.isdir(path):
        raise CheckpointError(f"{path}: a folder {known}: name a file in it")
    kind = f"a file that begins with {head[:8]!r}" if head else "an empty file"
    raise CheckpointError(f"{path}: byte 0: {kind} {known}")


def checked_path(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Give a path as text.

    Raises:
        ArgumentTypeError: it is not a path.
        CheckpointError: it is empty, or holds a zero byte, as no file's name is or does.
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise ArgumentTypeError(f"{argument} must be a str or os.PathLike, got {type(path).__name__}") from None
    if not text:  # of an unset variable of a shell; as a folder it would be the current one
        raise CheckpointError(f"{argument} must not be empty")
    if "\0" in text:
        raise CheckpointError(f"{argument} must not hold a zero byte, got {text!r}")
    return text


def _holds_other_files(path: str | os.PathLike[str]) -> bool:
    # Tensors alone are OneFlow's, from a write that still runs or was cut short: its index comes last.
    if not os.path.isdir(path) or all(name.startswith("tensor_") for name in os.listdir(path)):
        return False
    try:
        recognise(path)
    except CheckpointError:
        return True
    return False


def format_for(path: str | os.PathLike[str]) -> str:
    """Name the format to write by a path's ending; a path without one is a folder of OneFlow.

    Raises:
        CheckpointError: the ending belongs to no format, or to Keras's weights; or the path has no ending and is a folder of
            other files.
    """
    suffix = os.path.splitext(checked_path(path))[1].lower()
    if os.fspath(path).lower().endswith(".weights.h5"):
        raise CheckpointError(
            f"{os.fspath(path)}: the ending of Keras's weights, which go into a copy of such a file (--like FILE); .h5 alone is "
            f"the form of Chainer"
        )
    if not suffix and _holds_other_files(path):
        raise CheckpointError(
            f"{os.fspath(path)}: a folder that holds other files: name a file in it, an empty folder, or the format"
        )
    endings = {ending: name for name in NAMES for ending in format_module(name).SUFFIXES}
    longer = (ending for ending in endings if ending.count(".") > 1 and os.fspath(path).lower().endswith(ending))
    suffix = next(longer, suffix)
    if suffix in endings:
        return endings[suffix]
    known = sorted(filter(None, endings))
    raise CheckpointError(
        f"{os.fspath(path)}: no format has the ending {suffix!r} ({', '.join(known)}): name a format (format=..., --to)"
        f"{near(suffix, known)}"
    )


def _read_head(path: str | os.PathLike[str]) -> bytes:
    try:
        if os.path.isdir(path):
            return b"\0folder\0" + b"\0".join(sorted(os.fsencode(name) for name in os.listdir(path)))
        return read_regular(path, _HEAD)
    except OSError as error:
        raise CheckpointError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error
