"""Checkpoints of every framework: recognised by content, read without running any code from them, written atomically.

Each format is one file here with `recognise(head)`, `read(path)`, `write(path, content)`, `problem(leaf)`, `LAYOUT`,
`NESTED` and `SUFFIXES`; see README.md for how to add one. Nothing in this package needs torch until tensors are asked for.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grus.checkpoints.content import Content, flatten
from grus.checkpoints.finding import FoundGRU, find_grus
from grus.checkpoints.layout import Layout
from grus.checkpoints.stored import Stored, map_leaves
from grus.errors import CheckpointError

if TYPE_CHECKING:
    import torch

    from grus.layers import GRU, GRUCell

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
    head = _read_head(path)
    for name in NAMES:
        if format_module(name).recognise(head):
            return name
    kind = "folder" if os.path.isdir(path) else "empty file" if not head else f"file that begins with {head[:8]!r}"
    raise CheckpointError(
        f"{os.fspath(path)}: byte 0: a {kind} is a checkpoint of no known format ({', '.join(NAMES)})"
    )


def format_for(path: str | os.PathLike[str]) -> str:
    """Name the format to write by a path's ending; a path without one is a folder of OneFlow.

    Raises:
        CheckpointError: the ending belongs to no format.
    """
    suffix = Path(path).suffix.lower()
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
            links of equal input and hidden size).

    Returns:
        The checkpoint; its tensors keep their framework's names.

    Raises:
        CheckpointError: damaged, hostile, or of no known format; the message names file, place and cause.

    Example:
        checkpoint = grus.load_checkpoint("model.params")
        layer = checkpoint.gru("encoder")
    """
    name = format or recognise(path)
    content = format_module(name).read(path)
    return Checkpoint(os.fspath(path), name, content, bidirectional)


def save_checkpoint(obj: Any, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a model or tensors as a checkpoint of any framework; the file is replaced in one step.

    GRUs are written under the target's names and in its layout; every other tensor as it is.

    Args:
        obj: a module, a state_dict or other nested dicts of tensors (NumPy arrays, plain values), or a `Checkpoint`.
        path: where to.
        format: one of `NAMES`; None: by the path's ending, see `format_for`.

    Raises:
        CheckpointError: the format cannot hold something; the message names it and says why.
    """
    from grus.checkpoints.convert import rewrite

    name = format or format_for(path)
    source = obj if isinstance(obj, Checkpoint) else Checkpoint("the model", "torch", content_of(obj))
    rewrite(source, path, name, strict=True)


def content_of(obj: Any) -> Content:
    """Give what is to be written of a module or of nested dicts.

    Raises:
        CheckpointError: a GRU has an activation without a name, or a tensor cannot be stored.
    """
    import numpy as np
    import torch

    from grus.checkpoints.weights import mark_of

    marks: dict[str, dict[str, str]] = {}
    if isinstance(obj, torch.nn.Module):
        marks = {name: mark for name, module in obj.named_modules() if (mark := mark_of(module, name)) is not None}
        obj = obj.state_dict()

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return Stored.of_tensor(value)
        return Stored.of(value) if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" else value

    return Content(map_leaves(obj, leaf), marks=marks)


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
    def grus(self) -> tuple[FoundGRU, ...]:
        """The GRUs in the file, in its order."""
        layouts = _all_layouts(self.format)
        return tuple(find_grus(self.stored, layouts, self.content.marks, self._bidirectional))

    def gru(self, path: str | None = None) -> GRU | GRUCell:
        """Make a layer with the weights of a GRU in the file.

        Args:
            path: its name in the file; None if there is only one.

        Returns:
            A `grus.GRU` or `grus.GRUCell` with the right formula, in evaluation mode's defaults (no dropout).

        Raises:
            CheckpointError: there is no such GRU, or there are several.
        """
        from grus.checkpoints.weights import make_layer

        return make_layer(self.find(path), self.stored)

    def find(self, path: str | None = None) -> FoundGRU:
        """Give the GRU of that name, or the only one."""
        hits = [gru for gru in self.grus if path is None or gru.path == path]
        if len(hits) == 1:
            return hits[0]
        names = ", ".join(repr(gru.path) for gru in self.grus) or "none"
        what = "no GRU" if not hits else "several GRUs"
        raise CheckpointError(
            f"{self.path}: {what}{f' named {path!r}' if path is not None else ''}; there are: {names}"
        )

    @cached_property
    def _flat(self) -> dict[str, Any]:
        return flatten(self.content.tree, self.path)

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r}, {self.format}, {len(self.stored)} tensors, {len(self.grus)} GRUs)"


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
