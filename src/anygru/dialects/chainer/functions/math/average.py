"""Means."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import ReductionFunction
from ...functions.array.broadcast import broadcast_to
from ...functions.array.reshape import reshape
from ...functions.math import sum as sum_module
from ...variable import Variable


class Mean(ReductionFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        if any(x.shape[axis] == 0 for axis in self.axes(x.ndim)):
            raise ZeroDivisionError(f"the mean of no element: shape {tuple(x.shape)}, axis {self.axis}")
        return x.mean(self.axes(x.ndim), keepdim=self.keepdims) if x.ndim else x.clone()


def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Variable:
    """The (weighted) mean along an axis, several (a tuple, without weights) or all (None).

    Args:
        weights: array of the shape of `x`, or of the length of the one axis.
    """
    if weights is None:
        return Mean(axis, keepdims).apply((x,))[0]
    axes: tuple[int, ...] | None = None
    if axis is not None:
        axes = tuple(sorted(a + x.ndim if a < 0 else a for a in (axis if isinstance(axis, tuple) else (axis,))))
        if len(set(axes)) != len(axes):
            raise ValueError("duplicate value in 'axis'")
        if len(axes) > 1:
            raise ValueError("tuple axis is not supported when weights is given")
    total = sum_module.sum(weights)
    if axes is not None:
        shape = tuple(size if i in axes else 1 for i, size in enumerate(x.shape))
        weights = broadcast_to(reshape(weights, shape), x.shape)
    weighted = sum_module.sum(x * weights, axes, keepdims)
    return weighted / broadcast_to(total, weighted.shape)
