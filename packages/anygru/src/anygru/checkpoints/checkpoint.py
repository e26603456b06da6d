"""Loading a checkpoint of any framework, and looking into it."""

import copy
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError, CheckpointError, near
from .finding import FoundGRU, find_gru_layers
from .formats import NAMES, format_module
from .gate import Gate
from .layout import CheckpointLayout
from .reading.budget import Budget
from .reading.content import Content, flatten
from .reading.source import naming
from .stored import StoredTensor

if TYPE_CHECKING:
    import torch

    from .translation import AnyLayer


class Checkpoint:
    """The content of a checkpoint file.

    Attributes:
        path: the file or folder.
        format: its format's name.
        content: the nested values of the file.
        cut: the entries of a mapping by which its GRUs were cut.
    """

    def __init__(
        self,
        path: str,
        format: str,
        content: Content,
        bidirectional: Collection[str] = (),
        budget: Budget | None = None,
    ):
        self.path = path
        self.format = format
        self.content = content
        self._bidirectional = bidirectional
        self._budget = budget
        self.cut: frozenset[str] = frozenset()

    @classmethod
    def behind(cls, gate: Gate, format: str | None = None, bidirectional: Collection[str] = ()) -> "Checkpoint":
        """Read the file behind a gate; arguments and errors are those of `load_checkpoint`."""
        is_collection = isinstance(bidirectional, Collection) and not isinstance(bidirectional, str)
        if not is_collection or not all(isinstance(name, str) for name in bidirectional):
            raise ArgumentTypeError(f"bidirectional must be a collection of names, got {bidirectional!r:.60}")
        budget = gate.budget()
        checkpoint = cls(gate.path, *gate.content(format, budget), bidirectional, budget)
        for wanted in bidirectional:
            if not checkpoint.find(wanted).bidirectional:
                raise CheckpointError(
                    f"{gate.path}: bidirectional: the GRU {wanted!r} has one direction: "
                    f"{checkpoint.find(wanted).describe()}"
                )
        return checkpoint

    @cached_property
    def stored(self) -> dict[str, StoredTensor]:
        """The stored tensors by flat name (nested names joined by dots)."""
        return {name: leaf for name, leaf in self._flat.items() if isinstance(leaf, StoredTensor)}

    @property
    def tensors(self) -> "dict[str, torch.Tensor]":
        """Every tensor by its flat name. Tensors share the file's memory; clone one before you change it in place."""
        return {name: stored.tensor() for name, stored in self.stored.items()}

    @cached_property
    def values(self) -> dict[str, Any]:
        """Every value that is not a tensor (numbers, texts, lists of them, None), by its flat name."""
        return {name: leaf for name, leaf in self._flat.items() if not isinstance(leaf, StoredTensor)}

    @cached_property
    def gru_layers(self) -> tuple[FoundGRU, ...]:
        """The GRUs in the file, in its order."""
        layouts = _all_layouts(self.format)
        return tuple(find_gru_layers(self.stored, layouts, self.content.marks, self._bidirectional))

    def gru(self, path: str | None = None) -> "AnyLayer":
        """Make a layer with the weights of a GRU in the file.

        Args:
            path: its name in the file; None if there is only one.

        Returns:
            An `anygru.GRU` or `anygru.GRUCell` with the right formula and no dropout; of a frozen layer's weights an
            `anygru.FrozenGRU` or `anygru.FrozenGRUCell`.

        Raises:
            CheckpointError: there is no such GRU, or there are several.
        """
        from .translation import make_layer

        with naming(self.path):
            return make_layer(self.find(path), self.stored)

    def find(self, path: str | None = None) -> FoundGRU:
        """Give the GRU of that name, or the only one; CheckpointError if there is none, or several."""
        hits = [gru for gru in self.gru_layers if path is None or gru.path == path]
        if len(hits) == 1:
            return hits[0]
        names = ", ".join(repr(gru.path) if gru.path else "'' (the whole file)" for gru in self.gru_layers) or "none"
        names += "" if path is None or hits else near(path, (gru.path for gru in self.gru_layers))
        what = "no GRU" if not hits else "several GRUs"
        raise CheckpointError(
            f"{self.path}: {what}{f' named {path!r}' if path is not None else ''}; there are: {names}"
        )

    @cached_property
    def _flat(self) -> dict[str, Any]:
        return flatten(self.content.tree, self.path, self._budget)

    def recut(self, gru_layers: Sequence[FoundGRU], cut: Collection[str], metadata: dict[str, str]) -> "Checkpoint":
        """Give the same file with its tensors in other GRUs; see `writing.cutting`.

        Args:
            gru_layers: instead of the file's.
            cut: the entries of a mapping that asked for them.
            metadata: instead of the file's.
        """
        other = copy.copy(self)
        other.content = replace(self.content, metadata=metadata)
        other.gru_layers, other.cut = tuple(gru_layers), frozenset(cut)
        return other

    def renames(self, mapping: Mapping[str, str]) -> dict[str, str]:
        """Give the entries of a mapping that only rename."""
        return {old: new for old, new in mapping.items() if old not in self.cut}

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r}, {self.format}, {len(self.stored)} tensors, {len(self.gru_layers)} GRUs)"


def load_checkpoint(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    bidirectional: Collection[str] = (),
    limit: int | None = None,
    sandbox: bool = False,
) -> Checkpoint:
    """Read a checkpoint of any framework, without running code from it.

    Args:
        path: a file, or the folder of a OneFlow state.
        format: one of `NAMES`; None: recognised by content.
        bidirectional: names of GRUs that have two directions, where shapes alone leave it open (Chainer's two NStepGRU
            links of equal input and hidden size). Each must be the name of a GRU in the file that has, or can have, two.
        limit: the most bytes of memory to make from the file; None: 64 MiB and 32 times the file's size. The bytes of a
            mapped file (64 MiB and more) do not count.
        sandbox: read HDF5, Keras and ONNX files, which libraries in C parse, in a separate process with limits on memory and
            time (except on Windows). The results are the same, and it takes 0.2 s more.

    Returns:
        The checkpoint; its tensors keep their framework's names.

    Raises:
        CheckpointError: damaged, hostile, of no known format, or over the limit; the message names file, place and cause.
        ArgumentTypeError: `path` is not a path, `bidirectional` not a collection of names, or `limit` not a number.
        ArgumentError: `limit` is negative.

    Example::

        checkpoint = anygru.load_checkpoint("model.params")
        layer = checkpoint.gru("encoder")
    """
    return Checkpoint.behind(Gate(path, limit, sandbox), format, bidirectional)


def _all_layouts(first: str) -> Iterator[CheckpointLayout]:
    """The layouts of all frameworks, the given format first, without repetition."""
    seen = set()
    for name in (first, *(name for name in NAMES if name != first)):
        for layout in format_module(name).LAYOUT:
            if layout not in seen:
                seen.add(layout)
                yield layout
