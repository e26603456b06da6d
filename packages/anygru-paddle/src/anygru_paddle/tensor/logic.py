"""Comparisons and logic."""

from collections.abc import Callable
from typing import Any

import torch

from ..base.errors import no_kernel
from ..framework.kinds import Operand
from .operation import NUMBERS, need_same_dtype, need_tensor, operation, row

__all__ = [
    "allclose", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "equal", "equal_all", "greater_equal",
    "greater_than", "is_empty", "is_tensor", "isclose", "less_equal", "less_than", "logical_and", "logical_not",
    "logical_or", "logical_xor", "not_equal",
]  # fmt: skip


INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_REAL = (*INTEGERS, torch.float16, torch.bfloat16, torch.float32, torch.float64)


def is_equal(x: torch.Tensor, y: Any) -> torch.Tensor:
    """Where x is y. Floating-point numbers are equal to Paddle 2.6.2 if they differ by less than 1e-8 (recorded)."""
    equal = torch.eq(x, y)
    return equal | torch.lt(torch.abs(torch.sub(x, y)), 1e-8) if x.is_floating_point() else equal


def is_not_equal(x: torch.Tensor, y: Any) -> torch.Tensor:
    """Where `is_equal` is False."""
    return torch.logical_not(is_equal(x, y))


def _compare(name: str, compute: Callable[..., Any], what: str, numbers: bool = False) -> Callable[..., Any]:
    def function(x: torch.Tensor, y: Operand, name: str | None = None) -> torch.Tensor:
        need_tensor(x, "x", function.__name__)
        if numbers and isinstance(y, (bool, int, float)):
            # The number is cast first: 1.5 is equal to an integer 1 in Paddle 2.6.2 (recorded).
            return compute(x, torch.full([], y, dtype=torch.Tensor.dtype.__get__(x)))  # type: ignore[attr-defined]
        need_same_dtype(x, y, function.__name__, _REAL)
        return compute(x, y)

    return row(name, function, what + " Both tensors must have one dtype.")


# These two take numbers, the others tensors alone (2.6.2, recorded).
equal = _compare("equal", is_equal, "Where x is y.", numbers=True)
not_equal = _compare("not_equal", is_not_equal, "Where x is not y.")
less_than = _compare("less_than", torch.lt, "Where x is below y.")
less_equal = _compare("less_equal", torch.le, "Where x is y or below.")
greater_than = _compare("greater_than", torch.gt, "Where x is above y.")
greater_equal = _compare("greater_equal", torch.ge, "Where x is y or above.")


@operation
def equal_all(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Whether two tensors have the same shape and values."""
    if list(x.shape) != list(y.shape):  # for all dtypes
        return torch.tensor(False)
    need_same_dtype(x, y, "equal_all", (torch.bool, *NUMBERS))
    return torch.all(is_equal(x, y))


# The dtypes of Paddle 2.6.2's kernels, as `operation.NUMBERS` (recorded).
_CLOSE = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def _close(x: torch.Tensor, y: torch.Tensor, rtol: float, atol: float, equal_nan: bool) -> torch.Tensor:
    """As torch's, which refuses negative tolerances; Paddle computes with them (2.6.2, recorded): only equal values are close."""
    if float(rtol) >= 0 and float(atol) >= 0:
        return torch.isclose(x, y, float(rtol), float(atol), equal_nan)
    close = torch.eq(x, y) | torch.le(torch.abs(torch.sub(x, y)), float(atol) + float(rtol) * torch.abs(y))
    return close | (torch.isnan(x) & torch.isnan(y)) if equal_nan else close


def _broadcast(x_shape: list[int], y_shape: list[int]) -> bool:
    return all(1 in pair or pair[0] == pair[1] for pair in zip(x_shape[::-1], y_shape[::-1], strict=False))


def _closeness(name: str, reduce: Callable[..., Any], what: str) -> Callable[..., Any]:
    def function(
        x: torch.Tensor,
        y: torch.Tensor,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
        name: str | None = None,
    ) -> torch.Tensor:
        need_tensor(y, "y", function.__name__)
        mine, theirs = list(x.shape), list(y.shape)
        if mine != theirs and (x.dtype != y.dtype or not _broadcast(mine, theirs)):
            raise no_kernel(f"(PreconditionNotMet) {function.__name__}(): shapes differ, {mine} and {theirs}")
        need_same_dtype(x, y, function.__name__, _CLOSE, by="x")
        return reduce(_close(x, y, rtol, atol, equal_nan))

    return row(name, function, what)


isclose = _closeness("isclose", lambda close: close, "Where |x - y| is at most atol + rtol * |y|.")
allclose = _closeness("allclose", torch.all, "Whether |x - y| is at most atol + rtol * |y| everywhere.")


def _write(value: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    if out is None:
        return value
    with torch.no_grad():
        torch.Tensor.copy_(out, value)
    return out


_LOGICAL = (torch.bool, torch.int8, torch.int16, *NUMBERS, torch.complex64, torch.complex128)


def _logic(name: str, compute: Callable[..., Any], what: str, floats: bool = True) -> Callable[..., Any]:
    def function(
        x: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None, name: str | None = None
    ) -> torch.Tensor:
        need_same_dtype(x, y, function.__name__, _LOGICAL if floats else INTEGERS, by="x" if floats else "y")
        if not floats and x.is_floating_point():
            raise no_kernel(f"(NotFound) {function.__name__}() is not implemented for {x.dtype}")
        return _write(compute(x, y), out)

    return row(name, function, what if floats else what + " Integers and bools of one dtype.")


logical_and = _logic("logical_and", torch.logical_and, "Where both are true.")
logical_or = _logic("logical_or", torch.logical_or, "Where one or both are true.")
logical_xor = _logic("logical_xor", torch.logical_xor, "Where exactly one is true.")
bitwise_and = _logic("bitwise_and", torch.bitwise_and, "The bits set in both.", floats=False)
bitwise_or = _logic("bitwise_or", torch.bitwise_or, "The bits set in one or both.", floats=False)
bitwise_xor = _logic("bitwise_xor", torch.bitwise_xor, "The bits set in exactly one.", floats=False)


@operation
def logical_not(x: torch.Tensor, out: torch.Tensor | None = None, name: str | None = None) -> torch.Tensor:
    """Where x is false."""
    return _write(torch.logical_not(x), out)


@operation
def bitwise_not(x: torch.Tensor, out: torch.Tensor | None = None, name: str | None = None) -> torch.Tensor:
    """The bits that are not set."""
    return _write(torch.bitwise_not(x), out)


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor."""
    return isinstance(x, torch.Tensor)


@operation
def is_empty(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Whether x has no elements, as a bool tensor."""
    return torch.tensor(torch.Tensor.numel(x) == 0)
