"""Sums, means, extremes and other reductions along axes."""

from collections.abc import Callable
from typing import Any

import torch

from ..types import VariableLike
from ..utils import type_check
from ..variable import Variable
from ._rows import Axes, Tensor, Type, as_axes, function, has_axes, real
from .arrays import broadcast_to, reshape

__all__ = [
    "argmax", "argmin", "average", "batch_l2_norm_squared", "cumprod", "cumsum", "logsumexp", "max", "mean", "min", "prod",
    "sum", "sum_to",
]  # fmt: skip


def _reduction(axis: Axes = None, *others: bool) -> tuple[Any, ...]:
    return as_axes(axis), *map(bool, others)  # torch takes no other flags


def _axes(axis: tuple[int, ...] | None, x: Tensor) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    if len({a % x.ndim for a in axis if x.ndim}) != len(axis):
        raise ValueError("duplicate value in 'axis'")
    return axis


def _along(x: Tensor, axes: tuple[int, ...], reduce: Callable[[Tensor], Tensor]) -> Tensor:
    """`reduce` along some axes; without axes a copy.

    In NumPy and Chainer an empty tuple means no axis, in torch's reductions all axes.
    """
    return reduce(x) if axes else x.clone()


def _some_along(x: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes themselves; ValueError if one is empty, so that there is no largest element."""
    if any(x.shape[a] == 0 for a in axes):
        raise ValueError(f"no element to choose from: shape {tuple(x.shape)}, axis {axes}")
    return axes


@function("Sum", real, has_axes, prepare=_reduction)
def sum(x: Tensor, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """The sum along an axis, several (a tuple; if it is empty, `x` itself) or all (None)."""
    axes = _axes(axis, x)
    return _along(x, axes, lambda x: x.sum(axes, keepdim=keepdims))


@function("SumTo", unless=lambda x, shape: x.shape == shape)
def sum_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum along the axes on which `shape` was broadcast to the shape of `x`."""
    # Chainer 7.8.1 (`utils.sum_to`, read) sums over leading axes and axes of size 1, for any shape.
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(i for i, size in enumerate(shape, lead) if size == 1))
    y = x.sum(axes, keepdim=True) if axes else x[None].sum(0)  # whole numbers become int64 in any case
    return y.reshape(y.shape[lead:]) if lead > 0 else y


@function("Mean", real, has_axes, prepare=_reduction)
def _mean(x: Tensor, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    axes = _axes(axis, x)
    if any(x.shape[a] == 0 for a in axes):
        raise ZeroDivisionError(f"the mean of no element: shape {tuple(x.shape)}, axis {axis}")
    return _along(x, axes, lambda x: x.mean(axes, keepdim=keepdims))


def average(x: VariableLike, axis: Axes = None, weights: VariableLike = None, keepdims: bool = False) -> Variable:
    """The (weighted) mean along an axis, several (a tuple, without weights) or all (None).

    Args:
        weights: array of the shape of `x`, or of the length of the axis.
    """
    if weights is None:
        return _mean(x, axis, keepdims)
    axes: tuple[int, ...] | None = None
    if axis is not None:
        axes = tuple(sorted(a + x.ndim if a < 0 else a for a in (axis if isinstance(axis, tuple) else (axis,))))
        if len(set(axes)) != len(axes):
            raise ValueError("duplicate value in 'axis'")
        if len(axes) > 1:
            raise ValueError("tuple axis is not supported when weights is given")
    total = sum(weights)
    if axes is not None:
        shape = tuple(size if i in axes else 1 for i, size in enumerate(x.shape))
        weights = broadcast_to(reshape(weights, shape), x.shape)
    weighted = sum(x * weights, axes, keepdims)
    return weighted / broadcast_to(total, weighted.shape)


mean = average


@function("Prod", real, has_axes, prepare=_reduction, gradient_inputs=(0,))
def prod(x: Tensor, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """The product along an axis, several (a tuple) or all (None)."""
    for a in sorted((a % x.ndim for a in _axes(axis, x)), reverse=True):
        x = x.prod(a, keepdim=keepdims)
    return x if x.ndim else x.clone()


@function("LogSumExp", real, has_axes, prepare=_reduction, gradient_inputs=(0,))
def logsumexp(x: Tensor, axis: tuple[int, ...] | None = None) -> Tensor:
    """`log(sum(exp(x)))` along an axis, several (a tuple) or all (None)."""
    axes = _some_along(x, _axes(axis, x))
    return _along(x, axes, lambda x: x.logsumexp(axes))


@function("BatchL2NormSquared", real, lambda node, x: type_check.expect(x.ndim >= 2))
def batch_l2_norm_squared(x: Tensor) -> Tensor:
    """The squared L2 norm of each element of a batch [B, ...], as [B]."""
    return x.reshape(len(x), -1).square().sum(1)


class _Select(torch.autograd.Function):
    """The largest (or smallest) element; each of several that are equal gets the whole gradient.

    As Chainer 7.8.1 (`SelectorBase`, recorded); torch's `amax` divides the gradient among them.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, axes: tuple[int, ...], largest: bool) -> Tensor:
        y = x.amax(axes, keepdim=True) if largest else x.amin(axes, keepdim=True)
        ctx.save_for_backward(x == y)
        return y

    @staticmethod
    def backward(ctx: Any, gy: Tensor) -> tuple[Tensor, None, None]:
        (chosen,) = ctx.saved_tensors
        return gy * chosen, None, None


def _select(x: Tensor, axis: tuple[int, ...] | None, keepdims: bool, largest: bool) -> Tensor:
    axes = _some_along(x, _axes(axis, x))
    if not axes:
        return x.clone()
    y: Tensor = _Select.apply(x, axes, largest)
    kept = [size for a, size in enumerate(x.shape) if a not in {b % x.ndim for b in axes}]
    return y if keepdims else y.reshape(kept)


@function("Max", real, has_axes, prepare=_reduction)
def max(x: Tensor, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """The largest element along an axis, several (a tuple) or all (None)."""
    return _select(x, axis, keepdims, largest=True)


@function("Min", real, has_axes, prepare=_reduction)
def min(x: Tensor, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """The smallest element along an axis, several (a tuple) or all (None)."""
    return _select(x, axis, keepdims, largest=False)


def _int_or_none(axis: int | None = None) -> tuple[int | None]:
    if not (axis is None or isinstance(axis, int)):
        raise TypeError(f"axis: None or int are required, got {axis!r}")
    return (axis,)


def _some_elements(x: Tensor, axis: int | None, name: str) -> Tensor:
    if (x.numel() if axis is None else x.shape[axis] if x.ndim else 1) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence: shape {tuple(x.shape)}, axis {axis}")
    return x


def _one_axis(node: Any, x: Type) -> None:
    real(node, x)
    has_axes(node, x)


@function("ArgMax", _one_axis, prepare=_int_or_none, named=False)
def argmax(x: Tensor, axis: int | None = None) -> Tensor:
    """Place (int32) of the largest element along an axis or in the flattened array; the first of several."""
    # The result is int32, and NaN is the largest value (Chainer 7.8.1, seen).
    return _some_elements(x, axis, "argmax").argmax(axis).int()


@function("ArgMin", _one_axis, prepare=_int_or_none, named=False)
def argmin(x: Tensor, axis: int | None = None) -> Tensor:
    """Place (int32) of the smallest element along an axis or in the flattened array; the first of several."""
    return _some_elements(x, axis, "argmin").argmin(axis).int()


@function("Cumsum", _one_axis, prepare=_int_or_none, named=False)
def cumsum(x: Tensor, axis: int | None = None) -> Tensor:
    """The running sum along an axis, or over the flattened array."""
    return x.reshape(-1).cumsum(0) if axis is None else x.cumsum(axis)


@function("Cumprod", _one_axis, prepare=_int_or_none, named=False)
def cumprod(x: Tensor, axis: int | None = None) -> Tensor:
    """The running product along an axis, or over the flattened array."""
    return x.reshape(-1).cumprod(0) if axis is None else x.cumprod(axis)
