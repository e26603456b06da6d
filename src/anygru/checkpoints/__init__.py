"""Checkpoints of every framework: recognised by content, read without running any code from them, written atomically.

Each format is one file here with `recognise(head)`, `read(path)`, `write(path, content)`, `problem(leaf)`, `LAYOUT`,
`NESTED` and `SUFFIXES`; see README.md for how to add one. Nothing in this package needs torch until tensors are asked for.
"""

from __future__ import annotations

import importlib
import os
from collections import OrderedDict
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anygru.checkpoints.content import Content, flatten
from anygru.checkpoints.finding import FoundGRU, find_gru_layers
from anygru.checkpoints.layout import Layout
from anygru.checkpoints.stored import Path, Stored, flat_name, is_branch
from anygru.errors import ArgumentTypeError, CheckpointError

if TYPE_CHECKING:
    import torch

    from anygru.layers import GRU, GRUCell

__all__ = ["NAMES", "Checkpoint", "FoundGRU", "format_for", "load_checkpoint", "recognise", "save_checkpoint"]

#: Every format, the most telling content first: a pickle that is nobody else's counts as Paddle's.
NAMES = ("mxnet", "hdf5", "safetensors", "chainer", "torch", "oneflow", "paddle")

_HEAD = 4096


def format_module(name: str) -> Any:
    """Give a format's module.

    Raises:
        CheckpointError: there is no such format.
    """
    if name not in NAMES:
        raise CheckpointError(f"format {name!r} is unknown; known are {', '.join(sorted(NAMES))}")
    return importlib.import_module(f"{__name__}.{name}")


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
    kind = (
        "a folder" if os.path.isdir(path) else "an empty file" if not head else f"a file that begins with {head[:8]!r}"
    )
    raise CheckpointError(f"{path}: byte 0: {kind} is a checkpoint of no known format ({', '.join(NAMES)})")


def checked_path(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Give a path as text.

    Raises:
        ArgumentTypeError: it is no path.
        CheckpointError: it holds a zero byte, as no file's name does.
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise ArgumentTypeError(f"{argument} must be a str or os.PathLike, got {type(path).__name__}") from None
    if "\0" in text:
        raise CheckpointError(f"{argument} must not hold a zero byte, got {text!r}")
    return text


def format_for(path: str | os.PathLike[str]) -> str:
    """Name the format to write by a path's ending; a path without one is a folder of OneFlow.

    Raises:
        CheckpointError: the ending belongs to no format.
    """
    suffix = os.path.splitext(checked_path(path))[1].lower()
    for name in NAMES:
        if suffix in format_module(name).SUFFIXES:
            return name
    known = sorted(ending for name in NAMES for ending in format_module(name).SUFFIXES if ending)
    raise CheckpointError(
        f"{os.fspath(path)}: no format is known by the ending {suffix!r} ({', '.join(known)}): name one"
    )


def load_checkpoint(
    path: str | os.PathLike[str], format: str | None = None, *, bidirectional: Collection[str] = ()
) -> Checkpoint:
    """Read a checkpoint of any framework, without running code from it.

    Args:
        path: a file, or the folder of a OneFlow state.
        format: one of `NAMES`; None: recognised by content.
        bidirectional: names of GRUs that have two directions, where shapes alone leave it open (Chainer's two NStepGRU
            links of equal input and hidden size). Each must be the name of a GRU in the file that has, or can have, two.

    Returns:
        The checkpoint; its tensors keep their framework's names.

    Raises:
        CheckpointError: damaged, hostile, or of no known format; the message names file, place and cause.
        ArgumentTypeError: `path` is no path, or `bidirectional` no collection of names.

    Example:
        checkpoint = anygru.load_checkpoint("model.params")
        layer = checkpoint.gru("encoder")
    """
    path = checked_path(path)
    if isinstance(bidirectional, str) or not all(isinstance(name, str) for name in bidirectional):
        raise ArgumentTypeError(f"bidirectional must be a collection of names, got {bidirectional!r:.60}")
    name = format or recognise(path)
    checkpoint = Checkpoint(path, name, format_module(name).read(path), bidirectional)
    for wanted in bidirectional:
        if not checkpoint.find(wanted).bidirectional:
            raise CheckpointError(
                f"{path}: bidirectional: the GRU {wanted!r} has one direction: {checkpoint.find(wanted).describe()}"
            )
    return checkpoint


def save_checkpoint(obj: Any, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a model or tensors as a checkpoint of any framework; the file is replaced in one step.

    GRUs are written under the target's names and in its layout; every other tensor as it is.

    Args:
        obj: a module, a state_dict or other nested dicts of tensors (NumPy arrays, plain values), or a `Checkpoint`.
        path: where to.
        format: one of `NAMES`; None: by the path's ending, see `format_for`.

    Raises:
        CheckpointError: the format cannot hold something, the message names it and says why; or `path` has no place there.
        ArgumentTypeError: `obj` is nothing of that, or `path` no path.
        OSError: whatever the file system says while it writes (a full disk); the old file is whole.
    """
    from anygru.checkpoints.convert import rewrite

    path = checked_path(path)
    name = format or format_for(path)
    source = obj if isinstance(obj, Checkpoint) else Checkpoint("the model", "torch", content_of(obj))
    rewrite(source, path, name, strict=True)


def content_of(obj: Any) -> Content:
    """Give what is to be written of a module or of nested dicts.

    Raises:
        CheckpointError: a GRU has an activation without a name, or a tensor cannot be stored.
    """
    import torch

    from anygru.checkpoints.weights import mark_of

    marks: dict[str, dict[str, str]] = {}
    if isinstance(obj, torch.nn.Module):
        marks = {name: mark for name, module in obj.named_modules() if (mark := mark_of(module, name)) is not None}
        obj = obj.state_dict()
    if not isinstance(obj, dict | list | tuple):
        raise ArgumentTypeError(
            f"obj must be a module, a dict or list of tensors, or a Checkpoint, got {type(obj).__name__}"
        )
    return Content(_stored_leaves(obj, ()), marks=marks)


def _stored_leaves(value: Any, path: Path) -> Any:
    """The same nesting with `Stored` for each tensor and array; `path` are the keys that lead to the value."""
    import numpy as np
    import torch

    if isinstance(value, dict):
        kind = OrderedDict if isinstance(value, OrderedDict) else dict
        return kind((key, _stored_leaves(part, (*path, key))) for key, part in value.items())
    if isinstance(value, list | tuple):
        parts = [_stored_leaves(part, (*path, index)) for index, part in enumerate(value)]
        return value if not is_branch(parts) else parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, torch.Tensor):
        return Stored.of_tensor(value, flat_name(path))
    return Stored.of(value) if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" else value


class Checkpoint:
    """What is in a checkpoint file.

    Attributes:
        path: where it came from.
        format: its format's name.
        content: the nested values as they lie in the file.
    """

    def __init__(self, path: str, format: str, content: Content, bidirectional: Collection[str] = ()):
        self.path = path
        self.format = format
        self.content = content
        self._bidirectional = bidirectional

    @cached_property
    def stored(self) -> dict[str, Stored]:
        """Every tensor by its flat name (nested names joined by dots), as it lies in the file."""
        return {name: leaf for name, leaf in self._flat.items() if isinstance(leaf, Stored)}

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """Every tensor by its flat name. They share the file's memory: clone what is to be changed in place."""
        return {name: stored.tensor() for name, stored in self.stored.items()}

    @cached_property
    def values(self) -> dict[str, Any]:
        """Every value that is no tensor, by its flat name: numbers, texts, lists of them, None."""
        return {name: leaf for name, leaf in self._flat.items() if not isinstance(leaf, Stored)}

    @cached_property
    def gru_layers(self) -> tuple[FoundGRU, ...]:
        """The GRUs in the file, in its order."""
        layouts = _all_layouts(self.format)
        return tuple(find_gru_layers(self.stored, layouts, self.content.marks, self._bidirectional))

    def gru(self, path: str | None = None) -> GRU | GRUCell:
        """Make a layer with the weights of a GRU in the file.

        Args:
            path: its name in the file; None if there is only one.

        Returns:
            A `anygru.GRU` or `anygru.GRUCell` with the right formula, in evaluation mode's defaults (no dropout).

        Raises:
            CheckpointError: there is no such GRU, or there are several.
        """
        from anygru.checkpoints.weights import make_layer

        return make_layer(self.find(path), self.stored)

    def find(self, path: str | None = None) -> FoundGRU:
        """Give the GRU of that name, or the only one."""
        hits = [gru for gru in self.gru_layers if path is None or gru.path == path]
        if len(hits) == 1:
            return hits[0]
        names = ", ".join(repr(gru.path) for gru in self.gru_layers) or "none"
        what = "no GRU" if not hits else "several GRUs"
        raise CheckpointError(
            f"{self.path}: {what}{f' named {path!r}' if path is not None else ''}; there are: {names}"
        )

    @cached_property
    def _flat(self) -> dict[str, Any]:
        return flatten(self.content.tree, self.path)

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r}, {self.format}, {len(self.stored)} tensors, {len(self.gru_layers)} GRUs)"


def _all_layouts(first: str) -> Iterator[Layout]:
    """Every framework's layouts, those of one format first, each way of naming once."""
    seen = set()
    for name in (first, *(name for name in NAMES if name != first)):
        for layout in format_module(name).LAYOUT:
            if layout not in seen:
                seen.add(layout)
                yield layout


def _read_head(path: str | os.PathLike[str]) -> bytes:
    try:
        if os.path.isdir(path):
            return b"\0folder\0" + b"\0".join(sorted(os.fsencode(name) for name in os.listdir(path)))
        with open(path, "rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise CheckpointError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error
