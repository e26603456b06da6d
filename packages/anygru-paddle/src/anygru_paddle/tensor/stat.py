"""Means, variances, medians and quantiles."""

import math
from typing import Any

import torch

from ..framework.dtype import torch_dtype
from ..framework.kinds import Axis, Operand
from .operation import as_axis, need_tensor, no_small, operation, row, wrap

__all__ = ["mean", "median", "nanmedian", "numel", "quantile", "std", "var"]


@operation
def mean(x: torch.Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
    """The mean along axes (all by default); of integers the integer part of it."""
    axis = as_axis(axis)
    axis = None if axis == () else axis
    # torch.mean refuses integers and bools; 2.6.2 gives their type, bools for bools (recorded).
    values = x if x.is_floating_point() or x.is_complex() else torch.Tensor.to(x, torch.float64)
    out = torch.mean(values) if axis is None else torch.mean(values, dim=axis, keepdim=keepdim)
    if axis is None and keepdim:
        out = torch.reshape(out, [1] * x.ndim)
    return out if values is x else torch.Tensor.to(out, torch_dtype(x.dtype))


def _spread(x: torch.Tensor, axis: Any, unbiased: bool, keepdim: bool) -> torch.Tensor:
    need_tensor(x, "x", "var")
    no_small(x, "var")
    axis = as_axis(axis)
    axes = tuple(range(x.ndim)) if axis is None or axis == () else axis
    lengths = [x.shape[each] for each in (axes if isinstance(axes, tuple) else (axes,))] if x.ndim else []
    correction = int(unbiased and math.prod(lengths) != 1)  # one value varies by 0, not by 0 / 0
    if x.is_floating_point():
        return torch.var(x, dim=axes, correction=correction, keepdim=keepdim)
    # Of integers, with the integer part of the mean (recorded, 2.6.2).
    middle = mean(x, axis, True) if x.ndim else x
    total = torch.sum(torch.square(torch.sub(x, middle)), dim=axes, keepdim=keepdim)
    return torch.Tensor.to(torch.div(total, math.prod(lengths) - correction), torch.float32)


var = row(
    "var",
    lambda x, axis=None, unbiased=True, keepdim=False, name=None: _spread(x, axis, unbiased, keepdim),
    "The variance along axes (all by default), divided by count - 1 unless `unbiased` is False.",
)


@operation
def std(
    x: torch.Tensor, axis: Axis = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None
) -> torch.Tensor:
    """The standard deviation along axes; see `var`."""
    return torch.sqrt(_spread(x, axis, unbiased, keepdim))


def numel(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The number of elements, as an int64 tensor."""
    need_tensor(x, "x", "numel")
    return wrap(torch.tensor(torch.Tensor.numel(x)))


@operation
def median(x: torch.Tensor, axis: int | None = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
    """The middle element along an axis; of an even number of elements the mean of the two middle ones."""
    # The median of integers is float32, the median of `nanmedian` an integer (recorded, 2.6.2).
    values = torch.Tensor.to(x, torch.float32) if not x.is_floating_point() else x
    if axis is None:
        out = torch.quantile(torch.flatten(values), 0.5)
        return torch.reshape(out, [1] * x.ndim) if keepdim else out
    return torch.quantile(values, 0.5, dim=axis, keepdim=keepdim)


def of_axes(compute: Any, values: torch.Tensor, q: Any, axis: Any, keepdim: bool) -> torch.Tensor:
    """A quantile along several axes, which torch's functions `compute` do not support: the axes are flattened to one."""
    axis, places = as_axis(axis), torch.as_tensor(q, dtype=torch_dtype(values.dtype))
    if not isinstance(axis, tuple):
        return compute(values, places, dim=axis, keepdim=keepdim)
    axes = sorted(each % values.ndim for each in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(f"Axis has duplicated elements, got {list(axis)}")
    lengths = [1 if each in axes else length for each, length in enumerate(list(values.shape))]
    others = [each for each in range(values.ndim) if each not in axes]
    merged = torch.flatten(torch.permute(values, [*others, *axes]), len(others)) if axes else values
    out = compute(merged, places, dim=-1, keepdim=False)
    return torch.reshape(out, [*places.shape, *lengths]) if keepdim else out


@operation
def nanmedian(x: torch.Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
    """The median along axes (all by default), leaving out nan; of integers the integer part of it."""
    no_small(x, "nanmedian")
    values = x if x.is_floating_point() else torch.Tensor.to(x, torch.float64)
    return torch.Tensor.to(of_axes(torch.nanquantile, values, 0.5, axis, keepdim), torch_dtype(x.dtype))


@operation
def quantile(x: torch.Tensor, q: Operand, axis: Axis = None, keepdim: bool = False) -> torch.Tensor:
    """The q-quantiles along axes (all by default), in float64."""
    return of_axes(torch.quantile, torch.Tensor.to(x, torch.float64), q, axis, keepdim)
