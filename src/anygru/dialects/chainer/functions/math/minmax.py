"""Largest and smallest elements and their places."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction, ReductionFunction, expect, expect_axes
from ...variable import Variable


class _Select(torch.autograd.Function):
    """The largest (or smallest) element; the whole gradient goes to each of several that are equal."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axes: tuple[int, ...], largest: bool) -> torch.Tensor:
        y = x.amax(axes, keepdim=True) if largest else x.amin(axes, keepdim=True)
        ctx.save_for_backward(x == y)
        return y

    @staticmethod
    def backward(ctx: Any, gy: torch.Tensor) -> Any:
        (chosen,) = ctx.saved_tensors
        return gy * chosen, None, None


class SelectorBase(ReductionFunction):
    largest = True

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        if x.ndim == 0:
            return x.clone()
        axes = self.axes(x.ndim)
        if any(x.shape[axis] == 0 for axis in axes):
            raise ValueError(f"no element to choose from: shape {tuple(x.shape)}, axis {self.axis}")
        y = _Select.apply(x, axes, self.largest)
        if self.keepdims:
            return y
        kept = [size for axis, size in enumerate(x.shape) if axis not in {a % x.ndim for a in axes}]
        return y.reshape(kept)


class Max(SelectorBase):
    pass


class Min(SelectorBase):
    largest = False


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """The largest element along an axis, several (a tuple) or all (None)."""
    return Max(axis, keepdims).apply((x,))[0]


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """The smallest element along an axis, several (a tuple) or all (None)."""
    return Min(axis, keepdims).apply((x,))[0]


class IndexSelectorBase(FloatFunction):
    def __init__(self, axis: int | None = None) -> None:
        if not (axis is None or isinstance(axis, int)):
            raise TypeError(f"axis: None or int are required, got {axis!r}")
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() == 1, in_types[0].dtype.kind == "f")
        expect_axes(None if self.axis is None else (self.axis,), in_types[0])


class ArgMax(IndexSelectorBase):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.argmax(self.axis).int()


class ArgMin(IndexSelectorBase):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.argmin(self.axis).int()


def argmax(x: Any, axis: int | None = None) -> Variable:
    """Place (int32) of the largest element along an axis or in the flattened array; the first of several."""
    return ArgMax(axis).apply((x,))[0]


def argmin(x: Any, axis: int | None = None) -> Variable:
    """Place (int32) of the smallest element along an axis or in the flattened array; the first of several."""
    return ArgMin(axis).apply((x,))[0]
