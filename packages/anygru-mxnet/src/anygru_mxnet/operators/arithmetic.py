"""Operators on two arrays, or an array and a number: arithmetic, comparisons, logic."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..base import MXNetError
from .flat import flat
from .registry import operator, truth

Binary = Callable[[Any, Any], Tensor]


def same_dtype(*tensors: Tensor) -> None:
    """Raise an error for tensors of different dtypes, as MXNet's operators do.

    Raises:
        MXNetError: naming the two dtypes.
    """
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype != first:
            raise MXNetError(f"inputs must have one dtype: expected {first}, got {tensor.dtype}; use astype")


def as_number(value: Any, tensor: Tensor) -> float | int:
    """Convert a Python number to an array's dtype as in MXNet: truncate it, and wrap it in dtypes of 8 bits.

    Raises:
        MXNetError: for a number beyond the dtype's range. C leaves its conversion undefined; MXNet 1.9.1 takes the lowest
            number, so that `x < inf` is false.
    """
    if tensor.dtype.is_floating_point:
        return float(value)
    if not -(2**63) <= value < 2**63:
        kind = str(tensor.dtype).removeprefix("torch.")
        raise MXNetError(f"the number {value} does not fit into an array of {kind}; use x.astype('float32') first")
    whole = int(value)
    if tensor.dtype == torch.uint8:
        return whole & 255
    return (whole + 128) % 256 - 128 if tensor.dtype == torch.int8 else whole


def whole_of(real: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert real numbers to integers by C's rules: a number that does not fit in 32 bits is 0 in 8 bits."""
    return real.to(torch.int32).to(dtype) if dtype in (torch.int8, torch.uint8) else real.to(dtype)


def _divide(a: Any, b: Any) -> Tensor:
    if (a if isinstance(a, Tensor) else b).dtype.is_floating_point:
        return torch.div(a, b)
    if isinstance(a, Tensor):
        return torch.div(a, b, rounding_mode="trunc")
    return whole_of(a / b.double(), b.dtype)  # MXNet 1.9.1 divides real numbers here, also by zero (recorded)


def _remainder(a: Tensor, b: Tensor) -> Tensor:
    """The remainder, with the divisor's sign. For a divisor of 0 it is 0, with the usual formulas for the gradients."""
    if not a.dtype.is_floating_point:
        zero = b == 0
        return torch.where(zero, 0, torch.remainder(a, torch.where(zero, 1, b)))
    result = torch.remainder(a.detach(), b.detach())
    values = torch.where(b.detach() == 0, 0, result)
    return _Remainder.apply(a, b, values) if a.requires_grad or b.requires_grad else values


class _Remainder(torch.autograd.Function):
    """A known remainder. Its derivatives are 1 for the number and -floor(number / divisor) for the divisor."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, values: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return values.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        a, b = ctx.saved_tensors
        return gradient.sum_to_size(a.shape), (-gradient * torch.floor(a / b)).sum_to_size(b.shape), None


def _in_float32(function: Callable[[Tensor, Tensor], Tensor]) -> Binary:
    """Compute integers in float32 and truncate the results, as MXNet 1.9.1 does for powers and hypotenuses (recorded)."""

    def compute(a: Any, b: Any) -> Tensor:
        dtype = (a if isinstance(a, Tensor) else b).dtype
        if dtype.is_floating_point:
            return function(a, b)
        a, b = (torch.as_tensor(v, dtype=torch.float32) if not isinstance(v, Tensor) else v.float() for v in (a, b))
        return whole_of(function(a, b), dtype)

    return compute


def _compare(function: Binary) -> Binary:
    def compute(a: Any, b: Any) -> Tensor:
        return flat(function(a, b).to((a if isinstance(a, Tensor) else b).dtype), a, b)

    return compute


def _logical(function: Callable[[Tensor, Tensor], Tensor]) -> Binary:
    def compute(a: Any, b: Any) -> Tensor:
        like = a if isinstance(a, Tensor) else b
        a, b = (v if isinstance(v, Tensor) else torch.as_tensor(v, device=like.device) for v in (a, b))
        return flat(function(a, b).to(like.dtype), a, b)

    return compute


def _scalar_first(function: Callable[[Tensor, Tensor], Tensor]) -> Binary:
    """Let a torch function of two tensors accept a number on either side."""

    def compute(a: Any, b: Any) -> Tensor:
        if not isinstance(a, Tensor):
            a = torch.as_tensor(a, dtype=b.dtype, device=b.device)
        if not isinstance(b, Tensor):
            b = torch.as_tensor(b, dtype=a.dtype, device=a.device)
        return function(a, b)

    return compute


# name -> (function, names on two arrays, stem of the names with a number)
BINARY: dict[str, Binary] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _divide,
    "mod": _scalar_first(_remainder),
    "power": _in_float32(torch.pow),
    # If both are equal, the first gets the whole gradient; torch.maximum would split it. NaN is larger than every number.
    "maximum": _scalar_first(lambda a, b: torch.where((a < b) | (b != b), b, a)),
    "minimum": _scalar_first(lambda a, b: torch.where((a > b) | (b != b), b, a)),
    "hypot": _in_float32(_scalar_first(torch.hypot)),
    "equal": _compare(lambda a, b: a == b),
    "not_equal": _compare(lambda a, b: a != b),
    "greater": _compare(lambda a, b: a > b),
    "greater_equal": _compare(lambda a, b: a >= b),
    "lesser": _compare(lambda a, b: a < b),
    "lesser_equal": _compare(lambda a, b: a <= b),
    "logical_and": _logical(torch.logical_and),
    "logical_or": _logical(torch.logical_or),
    "logical_xor": _logical(torch.logical_xor),
}
_STEMS = {"add": "plus", "sub": "minus"}
_TITLES = {
    "plus": "Plus", "minus": "Minus", "mul": "Mul", "div": "Div", "mod": "Mod", "power": "Power",
    "maximum": "Maximum", "minimum": "Minimum", "hypot": "Hypot",
}  # fmt: skip


def _register_binary(name: str, function: Binary) -> None:
    stem = _STEMS.get(name, name)
    title = _TITLES.get(stem)

    def broadcast(lhs: Tensor, rhs: Tensor) -> Tensor:
        if lhs.dtype != rhs.dtype:
            same_dtype(lhs, rhs)
        return function(lhs, rhs)

    def elementwise(lhs: Tensor, rhs: Tensor) -> Tensor:
        if lhs.dtype != rhs.dtype:
            same_dtype(lhs, rhs)
        if lhs.shape != rhs.shape:
            raise MXNetError(
                f"elementwise {name}: both inputs must have one shape, got {tuple(lhs.shape)} and {tuple(rhs.shape)}; "
                f"broadcast_{name} broadcasts"
            )
        return function(lhs, rhs)

    def with_scalar(data: Tensor, scalar: float = 1.0, is_int: bool = True) -> Tensor:
        data = data if truth(is_int) or data.dtype.is_floating_point else data.double()
        return function(data, as_number(scalar, data))

    def from_scalar(data: Tensor, scalar: float = 1.0, is_int: bool = True) -> Tensor:
        data = data if truth(is_int) or data.dtype.is_floating_point else data.double()
        return function(as_number(scalar, data), data)

    own = f"elemwise_{name}" if name in ("add", "sub", "mul", "div") else f"_{name}"
    names = [own, f"_{stem}", *([f"_{title}"] if title else [])]
    broadcasts = [f"broadcast_{name}", *([f"broadcast_{stem}"] if stem != name else [])]
    operator(broadcasts[0], *broadcasts[1:], inputs=2, pointwise=True)(broadcast)
    operator(*dict.fromkeys(names), inputs=2, alike=True, pointwise=True)(elementwise)
    operator(f"_{stem}_scalar", *([f"_{title}Scalar"] if title else []), alike=True, pointwise=True)(with_scalar)
    if name in ("sub", "div", "mod", "power"):
        operator(f"_r{stem}_scalar", f"_R{title}Scalar", alike=True, pointwise=True)(from_scalar)


for _name, _function in BINARY.items():
    _register_binary(_name, _function)
