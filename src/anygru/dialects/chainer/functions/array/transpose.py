"""Another order of axes."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction
from ...variable import Variable


class Transpose(AnyFunction):
    def __init__(self, axes: Any = None) -> None:
        self.axes = axes

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        axes = tuple(reversed(range(x.ndim))) if self.axes is None else tuple(self.axes)
        if sorted(axis % x.ndim if x.ndim else axis for axis in axes) != list(range(x.ndim)):
            raise ValueError(f"axes must name each of the {x.ndim} axes once, got {axes}")
        return x.permute(axes)


def transpose(x: Any, axes: Any = None) -> Variable:
    """The axes in another order (reversed by default)."""
    return Transpose(axes).apply((x,))[0]
