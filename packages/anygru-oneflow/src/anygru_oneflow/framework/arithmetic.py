"""Arithmetic, comparisons and logic between tensors and numbers, where OneFlow's types or values differ from torch's.

Each is a function of `oneflow`, and most are also methods and operators of its tensors.
"""

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import numpy as np
import torch

from .dressing import dress, torch_dtype
from .tensor import Tensor

__all__ = [
    "add", "addcdiv", "addcmul", "div", "div_", "eq", "floor_divide", "fmod", "ge", "greater", "greater_equal", "gt", "le",
    "logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "ne", "neg", "negative", "not_equal", "pow",
    "relu", "sign", "square", "sub",
]  # fmt: skip


def _is_bool(value: object) -> bool:
    return isinstance(value, torch.Tensor) and torch_dtype(value) is torch.bool


def _in_one_type(input: Any, other: Any) -> tuple[Any, Any]:
    """The operands. A tensor without dimensions is cast to the type of an operand with dimensions.

    `flow.tensor([1, 2]) + flow.tensor(1.5)` is [2, 3] in OneFlow 0.9.0 (recorded), where torch gives [2.5, 3.5].
    """
    if not (isinstance(input, torch.Tensor) and isinstance(other, torch.Tensor)):
        return input, other
    with torch._C.DisableTorchFunctionSubclass():
        if input.dtype is other.dtype:
            return input, other
        if input.dim() and not other.dim():
            return input, dress(other.to(input.dtype))
        if other.dim() and not input.dim():
            return dress(input.to(other.dtype)), other
        if torch.promote_types(input.dtype, other.dtype) is torch.int16:  # which OneFlow has not
            raise RuntimeError(f"no operation takes {dress(input.dtype)} and {dress(other.dtype)} together; cast one")
    return input, other


def _in_floats_of_one_type(input: Any, other: Any) -> tuple[Any, Any]:
    """The operands of a quotient or power: next to whole numbers, a float64 without dimensions counts as float32 (recorded)."""
    if isinstance(input, torch.Tensor) and isinstance(other, torch.Tensor):
        types = torch_dtype(input), torch_dtype(other)
        if types[1] is torch.float64 and not types[0].is_floating_point and input.dim() and not other.dim():
            return input, other.to(torch.float32)
        if types[0] is torch.float64 and not types[1].is_floating_point and other.dim() and not input.dim():
            return input.to(torch.float32), other
    return input, other


def _arithmetic(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch of two operands, with OneFlow's types."""

    @wraps(function)
    def call(input: Any, other: Any) -> Any:
        return function(*_in_one_type(input, other))

    return call


def add(input: Any, other: Any = None, *more: Any, alpha: Any = 1) -> Any:
    """`input + alpha * other`, or the sum of several; next to a tensor of bools, a Python bool counts as 0 or 1."""
    if more or (other is None and isinstance(input, (tuple, list))):
        return reduce(add, (input, other, *more) if more else input)
    # In 0.9.0 a tensor of True plus Python's True is 2, an int64; True plus True of two tensors is true (recorded).
    if isinstance(other, bool) and _is_bool(input):
        other = int(other)
    input, other = _in_one_type(input, other)
    return torch.add(input, other, alpha=alpha)


maximum = _arithmetic(torch.maximum)
minimum = _arithmetic(torch.minimum)


def mul(input: Any, other: Any) -> Any:
    """`input * other`. With a number it saves no tensor, so backward() may run through it again, as in OneFlow."""
    if type(other) in (int, float) and isinstance(input, Tensor) and input.requires_grad and input.is_local:
        return dress(torch.ops.aten.mul.Scalar(input, other))
    return torch.mul(*_in_one_type(input, other))


def _of_numbers(value: object) -> bool:
    """Whether it is a tensor of a type other than bool."""
    return isinstance(value, torch.Tensor) and not _is_bool(value)


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input - other`; a bool counts as 0 or 1, and the difference of two tensors of bools is one of bools."""
    input, other = _in_one_type(input, other)
    if _is_bool(input) and _is_bool(other) and alpha == 1:
        return torch.logical_and(input, torch.logical_not(other))  # 0 - 1 is false, too (recorded in 0.9.0)
    known = next((torch_dtype(value) for value in (input, other) if _of_numbers(value)), torch.int64)
    input, other = (
        value.to(known) if _is_bool(value) else int(value) if isinstance(value, bool) else value
        for value in (input, other)
    )
    if isinstance(input, torch.Tensor):
        return torch.sub(input, other, alpha=alpha)
    # A number less bytes is the number plus their negatives, which wrap around: -1.5 - 2 is 252.5 (recorded in 0.9.0).
    return torch.add(torch.neg(other), input) if known is torch.uint8 else torch.rsub(other, input, alpha=alpha)


def div(input: Any, other: Any) -> Any:
    """`input / other`. Bools by a whole number are rounded down; two tensors of bools give `input` (recorded in 0.9.0)."""
    if _is_bool(input):
        if _is_bool(other):
            return torch.logical_or(input, torch.zeros_like(other))
        if isinstance(other, int):
            return torch.div(input.to(torch.int64), other, rounding_mode="trunc")
    if type(other) in (int, float) and isinstance(input, Tensor) and input.requires_grad and input.is_local:
        return dress(torch.ops.aten.div.Scalar(input, other))
    return torch.true_divide(*_in_floats_of_one_type(input, other))


def floor_divide(input: Any, other: Any) -> Any:
    """`input // other`: rounded down for floating point, toward zero for integers."""
    # -7 // 2 is -3 in 0.9.0 and -4 in torch; -7.0 // 2 is -4.0 in both (recorded).
    quotient = torch.div(input, other, rounding_mode="floor")
    if torch_dtype(quotient).is_floating_point:
        return quotient
    return torch.div(input, other, rounding_mode="trunc")


def fmod(input: Any, other: Any) -> Any:
    """`input % other`, with the sign of the input; zeros for two tensors of bools."""
    input, other = _in_one_type(input, other)
    if _is_bool(input):
        if _is_bool(other):
            return torch.logical_and(torch.zeros_like(input), other)
        input = input.to(torch.int64)
    # `%` in torch has the sign of the divisor: -7 % 3 is 2 there and -1 in 0.9.0 (recorded).
    return torch.fmod(input, other)


class _Power(torch.autograd.Function):
    """A power of floating point, with the gradients of OneFlow 0.9.0, which differ from torch's at 0 and below (recorded).

    For such a base the exponent's gradient is 0 if base and exponent have one shape, and NaN or infinite for different
    shapes; the base's gradient is `exponent * base ** (exponent - 1)` at any exponent.
    """

    @staticmethod
    def forward(ctx: Any, base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(base, exponent)
        return torch.pow(base, exponent)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        base, exponent = ctx.saved_tensors
        of_base = of_exponent = None
        with torch._C.DisableTorchFunctionSubclass():
            if ctx.needs_input_grad[0]:
                of_base = (gradients[0] * exponent * torch.pow(base, exponent - 1)).sum_to_size(base.shape)
            if ctx.needs_input_grad[1]:
                of_exponent = gradients[0] * torch.pow(base, exponent) * torch.log(base)
                if base.shape == exponent.shape:
                    of_exponent = torch.where(base > 0, of_exponent, 0)
                of_exponent = of_exponent.sum_to_size(exponent.shape)
        return of_base, of_exponent


def _power(input: Any, exponent: torch.Tensor) -> Any:
    """`input ** exponent` for an exponent that is a tensor."""
    tensors = [value for value in (input, exponent) if isinstance(value, Tensor)]
    if any(value.is_global for value in tensors) or not any(value.requires_grad for value in tensors):
        return torch.pow(input, exponent)
    with torch._C.DisableTorchFunctionSubclass():
        known = torch.result_type(input, exponent)
        return dress(_Power.apply(torch.as_tensor(input, dtype=known), exponent.to(known)))


def _as_bool_for(other: Any, value: Any) -> Any:
    """The operand of a power: a floating-point operand without dimensions is a bool if the other operand is bools with
    dimensions (recorded).
    """
    beside_bools = _is_bool(other) and other.dim() and isinstance(value, torch.Tensor) and not value.dim()
    return value.bool() if beside_bools and _is_floating(value) else value


def pow(input: Any, exponent: Any) -> Any:
    """`input ** exponent`. Two tensors of whole numbers give float32; whole numbers to a negative whole number are rounded
    down."""
    input, exponent = _as_bool_for(exponent, input), _as_bool_for(input, exponent)
    input, exponent = _in_floats_of_one_type(input, exponent)
    tensors = isinstance(input, torch.Tensor) and isinstance(exponent, torch.Tensor)
    if _is_bool(input) and _is_bool(exponent):  # 0 ** 0 is true
        return torch.logical_or(input, torch.logical_not(exponent))
    if tensors and not torch_dtype(exponent).is_floating_point:
        input = _floats(input)
    if isinstance(exponent, torch.Tensor):
        return _power(input, exponent)
    if isinstance(exponent, int) and exponent < 0 and not torch_dtype(input).is_floating_point:
        known = torch.int64 if _is_bool(input) else torch_dtype(input)
        return torch.pow(_floats(input), exponent).to(known)  # torch refuses it
    return torch.pow(input, exponent)


def relu(input: Any, inplace: bool = False) -> Any:
    """`x` where it is positive, 0 elsewhere; bools do not change."""
    if torch_dtype(input) is torch.bool:
        return input
    return torch.relu_(input) if inplace else torch.relu(input)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`input + value * tensor1 * tensor2`, of any types."""
    if _is_floating(input) & _is_floating(tensor1) & _is_floating(tensor2):
        return torch.addcmul(input, tensor1, tensor2, value=value)
    return add(input, mul(mul(tensor1, tensor2), value))


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`input + value * tensor1 / tensor2`, of any types."""
    if _is_floating(input) & _is_floating(tensor1) & _is_floating(tensor2):
        return torch.addcdiv(input, tensor1, tensor2, value=value)
    return add(input, mul(div(tensor1, tensor2), value))


def addcmul_(input: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """Add `value * tensor1 * tensor2`, of any types."""
    return torch.Tensor.copy_(input, addcmul(input, tensor1, tensor2, value=value))


def addcdiv_(input: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """Add `value * tensor1 / tensor2`, of any types."""
    return torch.Tensor.copy_(input, addcdiv(input, tensor1, tensor2, value=value))


def _in_floats(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Tensor], Any]:
    """A function of torch. For whole numbers OneFlow returns its result as float32."""

    @wraps(function)
    def call(input: Tensor) -> Any:
        return function(_floats(input))

    return call


def _is_floating(input: torch.Tensor) -> bool:
    return torch_dtype(input).is_floating_point


def _floats(input: torch.Tensor) -> torch.Tensor:
    return input if _is_floating(input) else torch.Tensor.to(input, torch.float32)


# abs keeps whole numbers; these three do not (recorded in 0.9.0).
neg = negative = _in_floats(torch.neg)
sign = _in_floats(torch.sign)
square = _in_floats(torch.square)


def _comparison(function: Callable[..., Any], exchanged: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison, which also takes the number first: then it is the opposite one of the tensor and the number."""

    @wraps(function)
    def call(input: Any, other: Any) -> Any:
        if not isinstance(input, torch.Tensor) and isinstance(other, torch.Tensor):
            return exchanged(other, input)
        return function(*_in_one_type(input, other))

    return call


def _number_first(function: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    """A quotient or remainder of a number by a tensor, which OneFlow refuses for bools."""

    def call(self: Tensor, other: Any) -> Any:
        if _is_bool(self):
            raise TypeError(f"{function.__name__}(): a number is not divided by bools; cast the tensor")
        return function(self, other)

    return call


def _same(self: Tensor, other: Any) -> Any:
    """`self == other`; a comparison with None is False."""
    return False if other is None else eq(self, other)  # `!= None` is a TypeError (recorded)


eq = _comparison(torch.eq, torch.eq)
ne = not_equal = _comparison(torch.ne, torch.ne)
gt = greater = _comparison(torch.gt, torch.lt)
ge = greater_equal = _comparison(torch.ge, torch.le)
lt = _comparison(torch.lt, torch.gt)
le = _comparison(torch.le, torch.ge)


def _logical(function: Callable[..., torch.Tensor]) -> Callable[[Any, Any], Any]:
    """A logical function, which asks whether values are other than zero, and takes a number on either side."""

    @wraps(function)
    def call(input: Any, other: Any) -> Any:
        return function(*_in_one_type(_truth(input), _truth(other)))

    return call


def _truth(value: Any) -> torch.Tensor:
    if isinstance(value, (int, float, np.generic)):
        return torch.tensor(bool(value))
    torch_dtype(value)  # raises TypeError for other objects
    return value


logical_and = _logical(torch.logical_and)
logical_or = _logical(torch.logical_or)
logical_xor = _logical(torch.logical_xor)


def _changing(function: Callable[..., Any], inplace: Callable[..., Any]) -> Callable[..., Any]:
    """An operation that changes its tensor, which keeps its type.

    Compute in place if torch can. The rest are operands that OneFlow 0.9.0 casts: `n += t` of whole numbers and
    floating point, a tensor of no dimensions, and bools.
    """

    def call(self: Tensor, other: Any, **keywords: Any) -> Any:
        if not isinstance(other, torch.Tensor):
            return inplace(self, int(other) if isinstance(other, bool) and function is sub else other, **keywords)
        _, other = _in_one_type(self, other)
        mine, its = torch_dtype(self), torch_dtype(other)
        if mine is torch.bool and function in (sub, div):
            result = function(self, other, **keywords)
            if torch_dtype(result) is not torch.bool:
                raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {self.dtype}")
            return torch.Tensor.copy_(self, result)
        if its is not mine and (function is add or its is torch.bool):
            other = other.to(mine)  # the addition takes any type (recorded in 0.9.0)
        return inplace(self, other, **keywords)

    return call


_methods = (
    add, addcdiv, addcdiv_, addcmul, addcmul_, div, eq, floor_divide, fmod, ge, gt, le, logical_and, logical_or, logical_xor, lt,
    maximum, minimum, mul, ne, neg, pow, relu, sign, square, sub,
)  # fmt: skip
_operators = {
    "__eq__": _same, "__ne__": ne, "__gt__": gt, "__ge__": ge, "__lt__": lt, "__le__": le,
    "__neg__": neg, "__add__": add, "__radd__": add, "__sub__": sub, "__rsub__": lambda self, other: sub(other, self),
    "__mul__": mul, "__rmul__": mul, "__truediv__": div, "__mod__": fmod, "__rmod__": _number_first(torch.Tensor.__rmod__),
    "__floordiv__": floor_divide, "__rfloordiv__": _number_first(torch.Tensor.__rfloordiv__),
    "__pow__": pow, "__rpow__": lambda self, other: pow(other, self),
    "__and__": logical_and, "__rand__": logical_and, "__or__": logical_or, "__ror__": logical_or,
    "__xor__": logical_xor, "__rxor__": logical_xor,
    "negative": neg, "relu_": lambda self: relu(self, inplace=True),
}  # fmt: skip
for _name, _operator in [*((_function.__name__, _function) for _function in _methods), *_operators.items()]:
    setattr(Tensor, _name, _operator)
# `x **= 2` and the like give `x` a new tensor in OneFlow, while `+=`, `-=`, `*=` and `/=` change the old one (recorded in 0.9.0).
for _name in ("pow", "mod", "floordiv", "and", "or", "xor"):
    setattr(Tensor, f"__i{_name}__", getattr(Tensor, f"__{_name}__"))
for _name, _operator in (("add", add), ("sub", sub), ("mul", mul), ("div", div)):
    _assigned = f"__i{_name}__".replace("div", "truediv")
    setattr(Tensor, f"{_name}_", _changing(_operator, getattr(torch.Tensor, f"{_name}_")))
    setattr(Tensor, _assigned, _changing(_operator, getattr(torch.Tensor, _assigned)))
div_ = Tensor.div_
