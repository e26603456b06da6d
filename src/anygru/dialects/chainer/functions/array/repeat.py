"""Repeating elements."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, check_axes
from ...functions.array.tile import as_counts
from ...variable import Variable


class Repeat(AnyFunction):
    def __init__(self, repeats: Any, axis: int | None = None) -> None:
        self.repeats = as_counts("repeats", repeats)
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise TypeError(f"axis must be int or None, got {axis!r}")
        self.axis = axis

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        x, axis = (x.reshape(-1), self.axis or 0) if self.axis is None or x.ndim == 0 else (x, self.axis)
        check_axes((axis,), x.ndim)
        if len(self.repeats) == 1:
            return x.repeat_interleave(self.repeats[0], axis)
        if len(self.repeats) != x.shape[axis]:
            raise ValueError(f"repeats has {len(self.repeats)} elements for an axis of size {x.shape[axis]}")
        return x.repeat_interleave(torch.tensor(self.repeats, device=x.device), axis)


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Variable:
    """Each element repeated along an axis (of the flattened array by default), as `numpy.repeat`."""
    return Repeat(repeats, axis).apply((x,))[0]
