"""Sums, extremes and other values of a dimension, where OneFlow's types or values differ from torch's.

Two rules of OneFlow 0.9.0 hold for most of them (recorded). Over a named dimension, a tensor without dimensions is its own
result, in its own type. Of no elements every result is zero: the kernels clear their memory and return.
"""

import builtins
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from .dressing import dress, torch_dtype
from .dtype import dtype, plain
from .tensor import Tensor

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "cumsum", "max", "mean", "min", "nansum", "prod", "std", "sum",
]  # fmt: skip

Dims = int | tuple[int, ...] | list[int] | None


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction (input, dim, ...) that gives back a tensor without dimensions where `dim` names one."""
    takes = inspect.signature(function)

    @wraps(function)
    def call(input: Tensor, *arguments: Any, **keywords: Any) -> Any:
        if input.dim() == 0:
            dim = takes.bind(input, *arguments, **keywords).arguments.get("dim")
            if dim is not None:
                return torch.sum(input, dim, dtype=torch_dtype(input))  # raises what it should for another dimension
        return function(input, *arguments, **keywords)

    return call


def _over(function: Callable[..., Any], input: Tensor, dim: Dims, keepdim: bool, **keywords: Any) -> Any:
    """The result of a function of torch over all dimensions, or over some."""
    return function(input, **keywords) if dim is None else function(input, dim, keepdim, **keywords)


def _zeros(input: Tensor, dim: Dims, keepdim: bool) -> Any:
    """What a reduction of no elements gives, in the type of the input."""
    return _over(torch.sum, input, dim, keepdim, dtype=torch_dtype(input))


@_reduction
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Any:
    """The sum over all dimensions, one or several; whole numbers and bools as int64."""
    wanted = plain(dtype)
    if wanted is None and input.dim() == 0:
        wanted = torch_dtype(input)
    return _over(torch.sum, input, dim, keepdim, dtype=wanted)


@_reduction
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Any:
    """The sum without NaN."""
    if input.dim() == 0 and dtype is None:
        return sum(input)
    return _over(torch.nansum, input, dim, keepdim, dtype=plain(dtype))


def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Any:
    """The mean over all dimensions, one or several.

    Raises:
        TypeError: `dtype` is a type of whole numbers.
    """
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"mean(): dtype must be a floating-point type, got {dtype}")
    if input.numel() == 0 and torch_dtype(input).is_floating_point:
        return sum(input, dim, keepdim, dtype=dtype)
    return _over(torch.mean, input, dim, keepdim, dtype=plain(dtype))


@_reduction
def prod(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Any:
    """The product over all dimensions, one or several; integers keep their type."""
    known = torch_dtype(input)
    wanted = plain(dtype) or (torch.int64 if known is torch.bool else known)
    if input.numel() == 0:
        return _over(torch.sum, input, dim, keepdim, dtype=wanted)
    if dim is None:
        return torch.prod(input, dtype=wanted)
    axes = dim if isinstance(dim, (tuple, list)) else [dim]
    product: torch.Tensor = input
    last = builtins.max(input.dim(), 1)
    for axis in sorted((axis % last if axis < 0 else axis for axis in axes), reverse=True):
        product = torch.prod(product, axis, keepdim, dtype=wanted)
    return product


@_reduction
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether no value is zero, as bools."""
    return _over(torch.all, input, dim, keepdim).to(torch.bool)


@_reduction
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether some value is other than zero, as bools."""
    return _over(torch.any, input, dim, keepdim).to(torch.bool)


def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Any:
    """The sums up to each value; a type of whole numbers does not change that of floating point (recorded in 0.9.0)."""
    keeps = dtype is not None and not dtype.is_floating_point and torch_dtype(input).is_floating_point
    return torch.cumsum(input, dim, dtype=None if keeps else plain(dtype))


def std(input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False) -> Any:
    """The standard deviation over all dimensions, one or several.

    Of whole numbers it is rounded toward zero, and of a tensor without dimensions 0 without a gradient (recorded in 0.9.0).
    """
    known = torch_dtype(input)
    values = input if known.is_floating_point else torch.Tensor.to(input, torch.float32)
    result = torch.std(values, unbiased) if dim is None else torch.std(values, dim, unbiased, keepdim)
    if input.dim() == 0:
        return dress(torch.zeros((), dtype=known))
    return result if known.is_floating_point else torch.Tensor.to(result, known)


def _extremes(function: Callable[..., Any]) -> Callable[..., Any]:
    """The least or greatest values, over all dimensions or several."""

    @wraps(function)
    def call(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Any:
        if input.numel() == 0:
            return _zeros(input, dim, keepdim)
        return _over(function, input, dim, keepdim)

    return call


amax = _extremes(torch.amax)
amin = _extremes(torch.amin)


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    """The least or greatest value; over a dimension the values and their places; of two tensors the values of both.

    Over a dimension of no elements OneFlow's places are memory that nobody wrote, so torch's error remains.
    """

    @wraps(function)
    def call(input: Tensor, *arguments: Any, **keywords: Any) -> Any:
        if not arguments and not keywords and input.numel() == 0:
            return _zeros(input, None, False)
        return function(input, *arguments, **keywords)

    return call


max = _extreme(torch.max)
min = _extreme(torch.min)


def _place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The place of an extreme value, of bools too."""

    @wraps(function)
    def call(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        if torch_dtype(input) is torch.bool:
            input = torch.Tensor.to(input, torch.uint8)  # type: ignore[assignment]
        return _over(function, input, dim, keepdim)

    return call


argmax = _place(torch.argmax)
argmin = _place(torch.argmin)

for _function in (all, amax, amin, any, argmax, argmin, cumsum, max, mean, min, nansum, prod, std, sum):
    setattr(Tensor, _function.__name__, _function)
