"""Operators between tensors and numbers, with Paddle's rules for dtypes.

A Python number added to a floating-point tensor or subtracted, and the argument of `%`, `**`, `<` and `<=`, is rounded to
single
precision first, even for float64 tensors.

Two tensors: add, subtract and multiply take the wider of two floating-point dtypes, all take the complex one; otherwise the
right tensor is cast to the dtype of the left one. A Python float with an integer tensor gives float32. True division of
integers gives float32. `+=` and the like make a new tensor. A string is the number that it begins with, or 0 (recorded, 2.6.2):
`tensor == "sum"` is not an error.
"""

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from ..base.errors import divided_by_zero, no_kernel
from ..framework.dtype import single
from ..framework.kinds import Operand
from .logic import INTEGERS, is_equal, is_not_equal
from .operation import need_same_dtype, no_small, product, times, to_dtype, translate, wrap

if TYPE_CHECKING:
    from .tensor import Tensor

_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_HALVES = (torch.float16, torch.bfloat16)
Binary = Callable[[Any, Any], torch.Tensor]


def _to(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return x if _dtype(x) == dtype else torch.Tensor.to(x, dtype)


def _right(x: torch.Tensor, y: Any, symbol: str, fills: bool) -> Any:
    """The right operand as a tensor or a Python number.

    `np.int32`, `np.int64` and `np.float64` are Python numbers to Paddle 2.6.2; bools, complex numbers and other floats of NumPy
    become tensors of shape [1] where it `fills`, and NumPy's bools and other integers are refused (recorded).
    """
    if isinstance(y, (torch.Tensor, int, float, torch.SymInt, torch.SymFloat)) and not (fills and isinstance(y, bool)):
        return y
    if isinstance(y, np.ndarray):
        return torch.as_tensor(y, device=x.device)
    if isinstance(y, (np.int32, np.int64)):
        return int(y)
    if isinstance(y, (np.floating, np.complexfloating, bool, complex)):
        value = y.item() if isinstance(y, np.generic) else y
        if isinstance(value, complex):
            return value
        return torch.full([1] if x.ndim or fills else [], value, dtype=_dtype(x), device=x.device)
    if isinstance(y, str):
        found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", y, re.IGNORECASE)
        number = float(found[0]) if found else float(y == "True")
        return torch.full([1], number if x.is_floating_point() else int(number), dtype=_dtype(x), device=x.device)
    raise ValueError(
        f"(InvalidArgument) {symbol}: argument (position 1) must be int, float, bool or Tensor, or numpy.float32, float64, "
        f"int32, int64 or complex, but got {type(y).__name__}"
    )


def _common(x: torch.Tensor, y: torch.Tensor, promotes: bool) -> torch.dtype:
    """The dtype in which Paddle 2.6.2 computes with two tensors of different dtypes: the left tensor's, unless (recorded)

    one is complex, or both are floating-point and the operator `promotes`."""
    mine, theirs = _dtype(x), _dtype(y)
    if mine.is_complex or theirs.is_complex or (promotes and mine.is_floating_point and theirs.is_floating_point):
        return torch.promote_types(mine, theirs)
    return mine


class _Rules(NamedTuple):
    """How an operator treats dtypes and numbers.

    Attributes:
        promotes: two floating-point tensors give the wider dtype.
        divides: integers are made float32 first.
        compares: gives bools, takes any dtype.
        small: which of bool and the integers of 8 and 16 bits it takes from two tensors (`operation.no_small`).
        numbers: with a number it takes all of them.
        swapped: the tensor is the right operand.
        rounds: a number is rounded to single precision, unless the tensor holds integers.
        fills: a bool and a float of NumPy become tensors of shape [1].
    """

    promotes: bool = False
    divides: bool = False
    compares: bool = False
    small: tuple[torch.dtype, ...] = ()
    numbers: bool = True
    swapped: bool = False
    rounds: bool = False
    fills: bool = False


def _cut(compute: Binary, x: torch.Tensor, y: float, swapped: bool) -> torch.Tensor:
    """In float16, digits cut off at every step (recorded, 2.6.2)."""
    number = to_dtype(torch.tensor(y), torch.float16).float()
    cut = to_dtype(compute(number, x.float()) if swapped else compute(x.float(), number), torch.float16)
    return torch.add(cut, 0.0) if compute is times else cut


def _operator(symbol: str, compute: Binary, rules: _Rules) -> "Callable[[Tensor, Any], Tensor]":
    """The operator method `symbol`, by torch's function `compute` of two tensors, or of a tensor and a number."""
    promotes, divides, compares, small, numbers, swapped, rounds, fills = rules

    def method(self: "Tensor", other: Any) -> "Tensor":
        x: Any = self
        y = other if type(other) in (int, float) else _right(x, other, symbol, fills)
        mine = _dtype(x)
        is_number = isinstance(y, (int, float)) and type(y) is not bool  # a bool is a tensor to Paddle 2.6.2 (recorded)
        if type(y) is bool and mine != torch.bool:
            y = int(y)
        if isinstance(y, complex) and mine in _HALVES:
            raise no_kernel(
                f"(NotFound) {symbol} is not implemented for {self.dtype} and complex; cast to float32 first"
            )
        if isinstance(y, torch.Tensor):
            if mine != _dtype(y):
                common = _common(x, y, promotes)
                x, y = _to(x, common), _to(y, common)
        elif isinstance(y, float) and not mine.is_floating_point and not mine.is_complex:
            x = _to(x, torch.float32)
        elif mine == torch.bool:
            if compares:
                y = bool(y)  # Paddle 2.6.2 casts the number: a bool tensor is equal to 3 where it is True (recorded)
            elif promotes and rounds and is_number:
                # Paddle 2.6.2 also casts the number in sums and differences: True - 1 is True (recorded).
                return wrap(torch.ones_like(x) if y else torch.clone(x))
            else:
                x = _to(x, torch.int64)
        if rounds and isinstance(y, (int, float)) and x.is_floating_point():
            y = single(y)
        act = compute
        if divides and not (x.is_floating_point() or x.is_complex()):
            x = _to(x, torch.float32)
            y = _to(y, torch.float32) if isinstance(y, torch.Tensor) else y
        if divides and is_number and not swapped:  # Paddle 2.6.2 multiplies by 1 / y, rounded to the dtype (recorded)
            y, act = 1.0 / y if y else math.copysign(math.inf, y), times
        if not (compares or divides or (numbers and is_number)):
            no_small(x if isinstance(y, float) else self, symbol, small)
        if mine == torch.float16 and (promotes or act is times) and isinstance(y, (int, float)) and self.is_cpu:
            return wrap(_cut(act, x, float(y), swapped))
        try:
            out = act(y, x) if swapped else act(x, y)
        except (RuntimeError, TypeError) as error:
            raise translate(error, symbol) from error
        if not compares and mine == torch.bool and not x.is_floating_point():
            out = torch.Tensor.to(out, torch.bool)
        return wrap(out)

    method.__name__ = method.__qualname__ = symbol
    method.__doc__ = f"`{symbol}` by Paddle's dtype rules."
    return method


def _nonzero(y: Operand) -> Any:
    if isinstance(y, torch.Tensor) and not y.is_floating_point() and bool(torch.any(torch.eq(y, 0))):
        raise divided_by_zero()
    if type(y) is int and y == 0:
        raise divided_by_zero()
    return y


def _floor_divide(x: Any, y: Any) -> torch.Tensor:
    with torch.no_grad():  # neither Paddle's floor division nor its remainder has a gradient (recorded, 2.6.2)
        return torch.floor_divide(x, y if x.is_floating_point() else _nonzero(y))


def _modulo(x: Any, y: Any) -> torch.Tensor:
    with torch.no_grad():
        return torch.remainder(x, y if x.is_floating_point() else _nonzero(y))


def _as_tensor(x: Any, like: Any) -> Any:
    return torch.full([], x, dtype=_dtype(like), device=like.device) if isinstance(x, (int, float)) else x


def _reverse_subtract(x: Any, y: Any) -> torch.Tensor:
    return torch.sub(_as_tensor(x, y), y)


def _reverse_divide(x: Any, y: Any) -> torch.Tensor:
    return torch.div(_as_tensor(x, y), y)


def _matmul(x: Any, y: Operand) -> torch.Tensor:
    if not isinstance(y, torch.Tensor):
        raise ValueError(f"(InvalidArgument) matmul: the right operand must be a Tensor, but got {type(y).__name__}")
    return product(x, y)


_SUMS = _Rules(promotes=True, rounds=True, small=(torch.int16,))
_EQUALITY, _ORDER = _Rules(compares=True, fills=True), _Rules(compares=True)
_QUOTIENTS = _Rules(small=(torch.int8, torch.uint8, torch.int16), numbers=False, fills=True)
_add = _operator("__add__", torch.add, _SUMS)
_sub = _operator("__sub__", torch.sub, _SUMS)
_mul = _operator("__mul__", times, _Rules(promotes=True, small=(torch.bool,)))
_div = _operator("__div__", torch.div, _Rules(divides=True))
_floordiv = _operator("__floordiv__", _floor_divide, _QUOTIENTS)
_mod = _operator("__mod__", _modulo, _Rules(rounds=True, numbers=False))
_pow = _operator("__pow__", torch.pow, _Rules(rounds=True, numbers=False, fills=True))
_mm = _operator("__matmul__", _matmul, _Rules())


def _bitwise(symbol: str, compute: Binary) -> "Callable[[Tensor, Any], Tensor]":
    def method(self: "Tensor", other: Any) -> "Tensor":
        if not isinstance(other, torch.Tensor):
            raise ValueError(
                f"(InvalidArgument) {symbol}(): argument 'y' (position 1) must be Tensor, but got {type(other).__name__}"
            )
        if other.is_floating_point() or other.is_complex():
            raise no_kernel(f"(NotFound) {symbol} is not implemented for {other.dtype}")
        need_same_dtype(self, other, symbol, INTEGERS)
        try:
            return wrap(compute(self, other))
        except RuntimeError as error:
            raise translate(error, symbol) from error

    method.__name__ = method.__qualname__ = symbol
    return method


def _negative(self: "Tensor") -> "Tensor":
    # -True is True: Paddle 2.6.2 multiplies by -1 in the dtype of x (recorded).
    return wrap(torch.clone(self) if _dtype(self) == torch.bool else times(self, -1))


def _invert(self: "Tensor") -> "Tensor":
    if self.is_floating_point():
        raise no_kernel(f"(NotFound) bitwise_not is not implemented for {self.dtype}")
    return wrap(torch.bitwise_not(self))


def _no_sign(self: "Tensor") -> Any:
    raise TypeError("bad operand type for unary +: 'Tensor'")


def _unsupported(symbol: str) -> "Callable[[Tensor, Any], Any]":
    def method(self: "Tensor", other: Any) -> Any:
        raise TypeError(f"unsupported operand type(s) for {symbol}: {type(other).__name__!r} and 'Tensor'")

    return method


OPERATORS: dict[str, Any] = {
    "__add__": _add,
    "__radd__": _add,
    # Paddle has no in-place operators (2.6.2, recorded): `y += 1` is `y = y + 1`. They are named here because torch's write
    # into y.
    "__iadd__": _add,
    "__sub__": _sub,
    "__rsub__": _operator("__rsub__", _reverse_subtract, _SUMS._replace(swapped=True)),
    "__isub__": _sub,
    "__mul__": _mul,
    "__rmul__": _mul,
    "__imul__": _mul,
    "__div__": _div,
    "__truediv__": _div,
    "__itruediv__": _div,
    "__rtruediv__": _operator("__rtruediv__", _reverse_divide, _Rules(divides=True, swapped=True)),
    "__floordiv__": _floordiv,
    "__ifloordiv__": _floordiv,
    "__rfloordiv__": _unsupported("//"),
    "__mod__": _mod,
    "__imod__": _mod,
    "__rmod__": _unsupported("%"),
    "__pow__": _pow,
    "__ipow__": _pow,
    # `0.1 ** x` does not round its number, as `x ** 0.1` does (recorded, 2.6.2).
    "__rpow__": _operator("__rpow__", torch.pow, _Rules(swapped=True)),
    "__matmul__": _mm,
    "__imatmul__": _mm,
    "__rmatmul__": _unsupported("@"),
    "__eq__": _operator("__eq__", is_equal, _EQUALITY),
    "__ne__": _operator("__ne__", is_not_equal, _EQUALITY),
    # Of float64 `x < 0.1` rounds the number to float32, `x > 0.1` does not: 0.1 is below 0.1 (recorded, 2.6.2).
    "__lt__": _operator("__lt__", torch.lt, _ORDER._replace(rounds=True)),
    "__le__": _operator("__le__", torch.le, _ORDER._replace(rounds=True)),
    "__gt__": _operator("__gt__", torch.gt, _ORDER),
    "__ge__": _operator("__ge__", torch.ge, _ORDER),
    "__and__": _bitwise("bitwise_and", torch.bitwise_and),
    "__iand__": _bitwise("bitwise_and", torch.bitwise_and),
    "__rand__": _unsupported("&"),
    "__or__": _bitwise("bitwise_or", torch.bitwise_or),
    "__ior__": _bitwise("bitwise_or", torch.bitwise_or),
    "__ror__": _unsupported("|"),
    "__xor__": _bitwise("bitwise_xor", torch.bitwise_xor),
    "__ixor__": _bitwise("bitwise_xor", torch.bitwise_xor),
    "__rxor__": _unsupported("^"),
    "__neg__": _negative,
    "__invert__": _invert,
    "__pos__": _no_sign,
    "__lshift__": _unsupported("<<"),
    "__rshift__": _unsupported(">>"),
}
