"""Runs blocks in order."""

import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ...symbol.nesting import Data
from ..blocks.base import Block
from ..blocks.hybrid import HybridBlock
from ..utils import indent

__all__ = ["HybridSequential", "Sequential"]


class _Container(Block):
    """Runs blocks in order."""

    _in_summary = False

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    def __repr__(self) -> str:
        rows = "\n".join(f"  ({key}): {indent(repr(block), 2)}" for key, block in self._children.items())
        return f"{type(self).__name__}(\n{rows}\n)"

    def __getitem__(self, key: Any) -> Any:
        chosen = list(self._children.values())[key]
        if not isinstance(chosen, list):
            return chosen
        part = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*chosen)
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(list(self._children.values()))


class Sequential(_Container):
    """Runs blocks in order."""

    def forward(self, x: Data) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Let the hybrid blocks inside run as graphs."""
        if self._children and all(isinstance(child, HybridBlock) for child in self._children.values()):
            warnings.warn(
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. Consider using HybridSequential "
                "for the best performance.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Container, HybridBlock):
    """Runs hybrid blocks in order."""

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        for block in self._children.values():
            x = block(x)
        return x
