"""Sums, extremes and other values of a dimension, where OneFlow's types or values differ from torch's.

Two rules of OneFlow 0.9.0 hold for most of them (recorded). Over a named dimension, a tensor without dimensions is its own
result, in its own type. For an input without elements every result is zero: the kernels clear their memory and return.
"""

import builtins
import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from .dressing import PAIRS, dress, torch_dtype
from .dtype import dtype, plain
from .tensor import Tensor

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "cumprod", "cumsum", "logaddexp", "logsumexp", "max", "mean", "median",
    "min", "nansum", "prod", "quantile", "std", "sum", "var",
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
                return torch.sum(input, dim, dtype=torch_dtype(input))  # raises the error for another dimension
        return function(input, *arguments, **keywords)

    return call


def _over(function: Callable[..., Any], input: Tensor, dim: Dims, keepdim: bool, **keywords: Any) -> Any:
    """The result of a function of torch over all dimensions, or over some."""
    # Any truth value is a flag in OneFlow, such as keepdim=1; torch takes bools alone.
    return function(input, **keywords) if dim is None else function(input, dim, bool(keepdim), **keywords)


def _named(input: Tensor, dim: Dims, keepdim: object) -> Dims:
    """The dimensions of a reduction. None and () mean all dimensions, which are listed if `keepdim` is true."""
    if dim not in (None, (), []):
        return dim
    return tuple(range(input.dim())) if keepdim and input.dim() else None


def _zeros(input: Tensor, dim: Dims, keepdim: bool) -> Any:
    """The result of a reduction of no elements, in the type of the input."""
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
    dim = None if dim in ((), []) else dim
    wanted = plain(dtype) or (torch.int64 if known is torch.bool else known)
    if not wanted.is_floating_point:  # which takes no gradient, so torch refuses to cast an input that does
        input = torch.Tensor.to(input, wanted)  # type: ignore[assignment]
    if input.numel() == 0:
        return _over(torch.sum, input, dim, keepdim, dtype=wanted)
    if dim is None:
        return torch.prod(input, dtype=wanted)
    axes = dim if isinstance(dim, (tuple, list)) else [dim]
    product: torch.Tensor = input
    last = builtins.max(input.dim(), 1)
    # torch.prod takes one dimension; from the last one on, the numbers of the others stay right.
    for axis in sorted((axis % last if axis < 0 else axis for axis in axes), reverse=True):
        product = torch.prod(product, axis, bool(keepdim), dtype=wanted)
    return product


@_reduction
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether no value is zero, as bools."""
    # For uint8 torch gives uint8, and 0.9.0 bools (recorded).
    return _over(torch.all, input, _named(input, dim, keepdim), keepdim).to(torch.bool)


@_reduction
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether some value is other than zero, as bools."""
    return _over(torch.any, input, _named(input, dim, keepdim), keepdim).to(torch.bool)


def _up_to(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sums or products up to each value; `dtype` makes the type wider and never smaller (recorded in 0.9.0)."""

    @wraps(function)
    def call(input: Tensor, dim: int, dtype: dtype | None = None) -> Any:
        wanted = None if dtype is None else torch.promote_types(torch_dtype(input), plain(dtype))
        return function(input, dim, dtype=wanted)

    return call


cumprod = _up_to(torch.cumprod)
cumsum = _up_to(torch.cumsum)


def var(input: Tensor, dim: Dims = None, unbiased: bool | None = None, keepdim: bool | None = None) -> Any:
    """The variance over all dimensions, one or several; without its mean's bias unless `unbiased` is false."""
    unbiased, dim = unbiased is None or bool(unbiased), _named(input, dim, keepdim)
    return torch.var(input, unbiased) if dim is None else torch.var(input, dim, unbiased, bool(keepdim))


def std(input: Tensor, dim: Dims = None, unbiased: bool | None = None, keepdim: bool | None = None) -> Any:
    """The standard deviation over all dimensions, one or several.

    For whole numbers it is rounded toward zero; a tensor without dimensions gives 0 without a gradient (recorded in 0.9.0).
    """
    known = torch_dtype(input)
    unbiased, keepdim, dim = unbiased is None or bool(unbiased), bool(keepdim), _named(input, dim, keepdim)
    if input.dim() == 0:
        return dress(torch.zeros((), dtype=known))
    if not known.is_floating_point:
        return torch.Tensor.to(_deviation(torch.Tensor.double(input), dim, unbiased, keepdim), known)
    return torch.std(input, unbiased) if dim is None else torch.std(input, dim, unbiased, keepdim)


def _deviation(values: torch.Tensor, dim: Dims, unbiased: bool, keepdim: bool) -> torch.Tensor:
    """The root of the mean square less the squared mean. By its rounding errors 0.9.0 gives 0 instead of 1 for [2, 3, 4]."""
    square = torch.mean(values * values, dim, keepdim) - torch.mean(values, dim, keepdim).square()
    count = values.numel() / builtins.max(square.numel(), 1)
    return torch.sqrt(square * (count / (count - 1) if count > 1 else math.nan) if unbiased else square)


def _extremes(function: Callable[..., Any]) -> Callable[..., Any]:
    """The least or greatest values, over all dimensions or several."""

    @wraps(function)
    def call(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Any:
        dim = _named(input, dim, keepdim)
        if input.numel() == 0:
            return _zeros(input, dim, keepdim)
        return _over(function, input, dim, keepdim)

    return call


amax = _extremes(torch.amax)
amin = _extremes(torch.amin)


def logsumexp(input: Tensor, dim: int | tuple[int, ...] | list[int], keepdim: bool = False) -> Any:
    """The logarithm of the sum of exponentials; of a tensor without dimensions as float32 (recorded in 0.9.0)."""
    return torch.logsumexp(input if input.dim() else torch.Tensor.to(input, torch.float32), dim, bool(keepdim))


def logaddexp(input: Tensor, other: Tensor) -> Any:
    """The logarithm of the sum of two exponentials; of whole numbers as float32 (recorded in 0.9.0)."""
    if not (torch_dtype(input).is_floating_point or torch_dtype(other).is_floating_point):
        input = torch.Tensor.to(input, torch.float32)  # type: ignore[assignment]
    return torch.logaddexp(input, other)


def median(input: Tensor, *arguments: Any, **keywords: Any) -> Any:
    """The value in the middle, or over a dimension the values and their places; of no elements NaN without a gradient."""
    whole = not arguments and not keywords
    if not arguments and keywords:
        keywords.setdefault("dim", -1)  # as soon as an argument is given (recorded in 0.9.0)
    arguments = (*arguments[:1], *map(bool, arguments[1:]))
    if "keepdim" in keywords:
        keywords["keepdim"] = bool(keywords["keepdim"])
    return torch.median(input.detach() if whole and input.numel() == 0 else input, *arguments, **keywords)


def _reduced(input: Tensor, dim: int, keepdim: bool) -> list[int]:
    """The shape of a reduction over one dimension."""
    sizes: list[int] = list(input.shape)
    if keepdim:
        sizes[dim] = 1
    else:
        del sizes[dim]
    return sizes


def _places_of_nothing(input: Tensor, dim: int | None, keepdim: bool) -> Any:
    """The places of a reduction with a result without elements; None for others.

    Over a dimension of no elements OneFlow's places are unwritten memory, so torch's error remains.
    """
    if dim is None or input.numel() or not -input.dim() <= dim < input.dim():
        return None
    sizes = _reduced(input, dim, keepdim)
    return None if math.prod(sizes) else dress(torch.zeros(sizes, dtype=torch.int64))


def _extreme(function: Callable[..., Any], values: Callable[..., Any]) -> Callable[..., Any]:
    """The least or greatest value; over a dimension the values and their places; of two tensors the values of both.

    Equal values share the gradient (recorded in 0.9.0), as in `values`; torch assigns it to one of them.
    """

    with_places = PAIRS[getattr(torch.return_types, function.__name__)]

    @wraps(function)
    def call(input: Tensor, *arguments: Any, **keywords: Any) -> Any:
        if not arguments and not keywords and input.numel() == 0:
            return _zeros(input, None, False)
        dim = arguments[0] if arguments else keywords.get("dim")
        if not isinstance(dim, int):
            return function(input, *arguments, **keywords)
        given = dict(zip(("dim", "keepdim"), arguments, strict=False)) | keywords
        keepdim = given["keepdim"] = bool(given.get("keepdim"))
        places = _places_of_nothing(input, dim, keepdim)
        if places is not None:
            return with_places(dress(input.flatten()[:0].reshape(places.shape)), places)
        found = function(input, *arguments[2:], **given)
        # Values by amax share the gradient; without a gradient a single pass of `max` will do.
        return with_places(values(input, dim, keepdim), found[1]) if input.requires_grad else found

    return call


max = _extreme(torch.max, torch.amax)
min = _extreme(torch.min, torch.amin)


def _place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The place of an extreme value, also of bools."""

    @wraps(function)
    def call(input: Tensor, dim: int | None = None, keepdim: bool | None = None, dtype: dtype | None = None) -> Any:
        if torch_dtype(input) is torch.bool:
            input = torch.Tensor.to(input, torch.uint8)  # type: ignore[assignment]  # torch refuses bools
        places = _places_of_nothing(input, dim, bool(keepdim))
        if places is None:
            places = _over(function, input, dim, bool(keepdim))
        # Over all dimensions 0.9.0 returns int64 for any dtype (recorded).
        return places if dtype is None or dim is None else places.to(dtype)

    return call


def quantile(
    input: Tensor, q: float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Any:
    """The value below which a share `q` of a dimension's values falls, as float64; `keepdim` has no effect (recorded)."""
    return torch.quantile(input.double(), q, dim, interpolation=interpolation)


argmax = _place(torch.argmax)
argmin = _place(torch.argmin)

_methods = (
    all, amax, amin, any, argmax, argmin, cumprod, cumsum, logaddexp, logsumexp, max, mean, median, min, nansum, prod, std,
    sum, var,
)  # fmt: skip
for _function in _methods:
    setattr(Tensor, _function.__name__, _function)
