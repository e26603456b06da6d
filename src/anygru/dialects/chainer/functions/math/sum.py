"""Sums."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, ReductionFunction
from ...variable import Variable, as_variable


class Sum(ReductionFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.sum() if x.ndim == 0 or self.axis == () else x.sum(self.axes(x.ndim), keepdim=self.keepdims)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """The sum along an axis, several (a tuple) or all (None)."""
    return Sum(axis, keepdims).apply((x,))[0]


class SumTo(AnyFunction):
    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.sum_to_size(self._shape)


def sum_to(x: Any, shape: tuple[int, ...]) -> Variable:
    """The sum along the axes on which `shape` was broadcast to the shape of `x`."""
    return as_variable(x) if x.shape == shape else SumTo(shape).apply((x,))[0]
