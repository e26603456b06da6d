"""Functions that OneFlow computes otherwise than torch: other defaults, other types of the result, other norms.

Each is a function of `oneflow`, and most are methods of its tensors too.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch

from .dressing import copied, dress, torch_dtype
from .dtype import dtype, plain
from .tensor import Tensor

__all__ = [
    "allclose", "argsort", "argwhere", "bmm", "floor_divide", "log_softmax", "masked_fill", "masked_fill_",
    "masked_select", "matmul", "neg", "negative", "nonzero", "norm", "pow", "prod", "sign", "softmax", "sort", "square",
    "sub", "topk", "unique", "where",
]  # fmt: skip


def floor_divide(input: Any, other: Any) -> Tensor:
    """`input // other`: rounded down for floating point, toward zero for integers."""
    quotient = torch.div(input, other, rounding_mode="floor")
    if torch_dtype(quotient).is_floating_point:
        return quotient  # type: ignore[return-value]
    return torch.div(input, other, rounding_mode="trunc")  # type: ignore[return-value]


def _in_floats(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Tensor], Any]:
    """A function of torch whose result OneFlow gives as float32 for whole numbers."""

    @wraps(function)
    def call(input: Tensor) -> Any:
        return function(_floats(input))

    return call


def _floats(input: torch.Tensor) -> torch.Tensor:
    return input if torch_dtype(input).is_floating_point else torch.Tensor.to(input, torch.float32)


neg = negative = _in_floats(torch.neg)
sign = _in_floats(torch.sign)
square = _in_floats(torch.square)


def pow(input: Any, exponent: Any) -> Any:
    """`input ** exponent`; of two tensors of whole numbers as float32, of whole numbers and a negative one rounded down."""
    tensors = isinstance(input, torch.Tensor) and isinstance(exponent, torch.Tensor)
    if tensors and not torch_dtype(exponent).is_floating_point:
        input = _floats(input)
    if isinstance(exponent, int) and exponent < 0 and not torch_dtype(input).is_floating_point:
        return torch.pow(_floats(input), exponent).to(torch_dtype(input))  # torch refuses it
    return torch.pow(input, exponent)


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input - other`; bools count as 0 and 1."""
    input, other = (
        value.to(torch.int64) if isinstance(value, torch.Tensor) and torch_dtype(value) is torch.bool else value
        for value in (input, other)
    )
    return torch.sub(input, other, alpha=alpha) if isinstance(input, torch.Tensor) else torch.rsub(other, input)


def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Any:
    """The product over all axes, one or several; integers keep their type."""
    known = torch_dtype(input)
    wanted = plain(dtype) or (torch.int64 if known is torch.bool else known)
    if dim is None:
        return torch.prod(input, dtype=wanted)
    axes = dim if isinstance(dim, (tuple, list)) else [dim]
    product: torch.Tensor = input
    for axis in sorted((axis % max(input.dim(), 1) if axis < 0 else axis for axis in axes), reverse=True):
        product = torch.prod(product, axis, keepdim, dtype=wanted)
    return product


def sort(input: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """The sorted `values`, and their places `indices` as int32, as OneFlow counts here."""
    # Equal values keep their order (recorded in 0.9.0 on the CPU).
    values, places = torch.sort(input, dim=dim, descending=descending, stable=True)
    return torch.return_types.sort((values, places.to(torch.int32)))


def argsort(input: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """The places of the sorted values, as int32."""
    return sort(input, dim, descending)[1]


def topk(input: Tensor, k: int, dim: int | None = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k greatest or smallest values in order, and their places; of equal values the first come first (recorded in 0.9.0)."""
    axis = -1 if dim is None else dim
    values, places = torch.sort(input, dim=axis, descending=largest, stable=True)
    return torch.return_types.topk((values.narrow(axis, 0, k), places.narrow(axis, 0, k)))


def nonzero(input: Tensor, as_tuple: bool = False) -> Any:
    """The places of what is not zero, a row each, or a tensor for each dimension."""
    return torch.nonzero(input, as_tuple=True) if as_tuple else torch.nonzero(input)


def _product(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """A product of matrices, of which either may be transposed, times alpha."""

    @wraps(function)
    def call(
        input: torch.Tensor,
        other: torch.Tensor,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
    ) -> Any:
        first = input.transpose(-2, -1) if transpose_a else input
        product = function(first, other.transpose(-2, -1) if transpose_b else other)
        return product if alpha == 1 else product * alpha

    return call


matmul = _product(torch.matmul)
bmm = _product(torch.bmm)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Any:
    """A copy with the value where the mask, of bools or integers, is not zero."""
    return torch.masked_fill(input, mask.bool(), value)


def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Any:
    """Put the value where the mask, of bools or integers, is not zero."""
    return torch.Tensor.masked_fill_(input, mask.bool(), value)


def masked_select(input: Tensor, mask: Tensor) -> Any:
    """The values where the mask, of any type, is not zero."""
    return torch.masked_select(input, mask.bool())


def argwhere(input: Tensor, dtype: dtype | None = None) -> Any:
    """The places of what is not zero, a row each, as int32 or the type asked for."""
    return torch.argwhere(input).to(torch.int32 if dtype is None else plain(dtype))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """The different values, in ascending order or in that of their coming; places and counts as int32."""
    counted = torch.int32 if dtype is None else plain(dtype)
    with torch._C.DisableTorchFunctionSubclass():
        values, inverse, counts = torch.unique(input.flatten(), return_inverse=True, return_counts=True)
        if not sorted:
            first = torch.full_like(counts, inverse.numel())
            first = first.scatter_reduce(0, inverse, torch.arange(inverse.numel(), device=input.device), "amin")
            order = first.argsort()
            values, counts, inverse = values[order], counts[order], order.argsort()[inverse]
    results = [values]
    if return_inverse:
        results.append(inverse.view(input.shape).to(counted))
    if return_counts:
        results.append(counts.to(counted))
    return dress(results[0]) if len(results) == 1 else dress(tuple(results))


def where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    """x where the condition (bool or integers) holds, else y; with one Python float beside a tensor, as float64."""
    if x is None and y is None:
        return torch.where(condition)
    result = torch.where(condition.bool(), x, y)
    if isinstance(x, torch.Tensor) != isinstance(y, torch.Tensor) and isinstance(
        y if isinstance(x, torch.Tensor) else x, float
    ):
        return result.to(torch.float64)
    return result


def softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Any:
    """Exponentials that add up to 1; without `dim` along the first axis of 0, 1 or 3, else the second."""
    return torch.softmax(input, _first_or_second(input, dim), plain(dtype))


def log_softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Any:
    """The logarithm of `softmax`."""
    return torch.log_softmax(input, _first_or_second(input, dim), plain(dtype))


def _first_or_second(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    return 0 if input.dim() in (0, 1, 3) else 1


def norm(
    input: Tensor, p: float | str | None = None, dim: Any = None, keepdim: bool = False, dtype: dtype | None = None
) -> Any:
    """The norm of a vector, or of a matrix where the tensor or `dim` has two axes: p=1 is its greatest column's sum.

    p=2 and the like are the norms of a matrix's values.

    Raises:
        RuntimeError: p for a tensor of more than two axes, without `dim`.
    """
    axes = input.dim() if dim is None else len(dim) if isinstance(dim, (tuple, list)) else 1
    if p is not None and dim is None and axes > 2:
        raise RuntimeError("linalg.norm(): input must be 1-D or 2-D when dim is None and ord is not None")
    if axes == 2 and isinstance(p, (int, float)) and abs(p) not in (1, math.inf):
        return torch.linalg.vector_norm(input, p, dim, keepdim, dtype=plain(dtype))
    return torch.linalg.norm(input, p, dim, keepdim, dtype=plain(dtype))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all values are as good as equal, of all processes for global tensors."""
    with torch._C.DisableTorchFunctionSubclass():
        return torch.allclose(input._whole(), other._whole(), rtol, atol, equal_nan)


def copy_(self: Tensor, other: Any) -> None:
    """Overwrite the values, outside of the autograd graph; gives nothing.

    Args:
        other: a tensor of any type, or an array of the same type and shape.

    Raises:
        AssertionError: an array of another type or shape.
    """
    source = other
    if isinstance(other, np.ndarray):
        known = torch.from_numpy(copied(other))
        assert known.dtype == torch_dtype(self), f"copy_: the array must be {self.dtype}, got {other.dtype}"
        assert known.shape == tuple(self.shape), f"copy_: the array must have shape {self.shape}, got {known.shape}"
        source = known
    with torch.no_grad():
        if self.is_global and isinstance(source, Tensor) and source.is_global:
            source = source.to_global(self.placement, self.sbp)
        torch.Tensor.copy_(self.detach(), source)


def _logical(function: Callable[..., torch.Tensor]) -> Callable[[Tensor, Any], Any]:
    """An operator such as `&`, which asks in OneFlow whether values are other than zero."""

    def operator(self: Tensor, other: Any) -> Any:
        return function(self, other if isinstance(other, torch.Tensor) else torch.tensor(other))

    return operator


def _by_number(function: Callable[..., Any], with_number: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    """A product or quotient. With a number it saves nothing, so its step serves any number of times, as in OneFlow."""

    def operator(self: Tensor, other: Any) -> Any:
        if type(other) in (int, float) and self.requires_grad and self.is_local:
            return dress(with_number(self, other))
        return function(self, other)

    return operator


_functions: tuple[Callable[..., Any], ...] = (
    sort, argsort, floor_divide, norm, softmax, log_softmax, copy_, allclose, masked_fill, masked_fill_, masked_select,
    nonzero, pow, prod, sub, topk,
)  # fmt: skip
for _function in _functions:
    setattr(Tensor, _function.__name__, _function)
for _name, _operator in [
    ("neg", neg),
    ("negative", neg),
    ("sign", sign),
    ("square", square),
    ("__neg__", neg),
    ("__mul__", _by_number(torch.mul, torch.ops.aten.mul.Scalar)),
    ("__rmul__", _by_number(torch.mul, torch.ops.aten.mul.Scalar)),
    ("mul", _by_number(torch.mul, torch.ops.aten.mul.Scalar)),
    ("__truediv__", _by_number(torch.true_divide, torch.ops.aten.div.Scalar)),
    ("__pow__", pow),
    ("__sub__", sub),
    ("__rsub__", lambda self, other: sub(other, self)),
    ("__floordiv__", floor_divide),
    ("__and__", _logical(torch.logical_and)),
    ("__or__", _logical(torch.logical_or)),
    ("__xor__", _logical(torch.logical_xor)),
]:
    setattr(Tensor, _name, _operator)
# `x **= 2` and the like give `x` a new tensor in OneFlow, while `+=`, `-=`, `*=` and `/=` change the old one (recorded in 0.9.0).
for _name in ("pow", "mod", "floordiv", "and", "or", "xor"):
    setattr(Tensor, f"__i{_name}__", getattr(Tensor, f"__{_name}__"))
