"""The operators of Variables."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ...backends import cuda
from ...functions._checks import AnyFunction, FloatFunction, PairFunction
from ...utils import type_check
from ...variable import Variable

_ARRAYS = (numpy.ndarray, cuda.ndarray)


def _is_scalar(value: Any) -> bool:
    return bool(numpy.isscalar(value))


def _text(value: Any) -> str:
    if _is_scalar(value):
        return f"({value})" if value < 0 else str(value)
    return "constant array"


def _operand(x: Any, value: Any) -> Any:
    """The other operand: a Variable as it is, an array cast to the dtype of `x`; TypeError for anything else."""
    if isinstance(value, Variable):
        return value
    if not (_is_scalar(value) or isinstance(value, _ARRAYS)):
        raise TypeError(
            f"Value must be a scalar, `numpy.ndarray`, `cupy.ndarray` or a `Variable`.\nActual: {type(value)}"
        )
    return value.astype(x.dtype, copy=False)


class Neg(AnyFunction):
    is_elementwise = True
    label = "__neg__"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return -x


def neg(self: Any) -> Variable:
    """`-x`."""
    return Neg().apply((self,))[0]


def magnitude(x: torch.Tensor) -> torch.Tensor:
    """`|x|` whose gradient does not depend on x any more: torch's abs gives one that NumPy cannot hold."""
    return x * x.detach().sign() + 0.0  # which makes zeros of negative ones


class Absolute(FloatFunction):
    is_elementwise = True
    label = "|_|"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return magnitude(x)


def absolute(self: Any) -> Variable:
    """`|x|`, elementwise."""
    return Absolute().apply((self,))[0]


class _WithConstant:
    """What functions of an array and a scalar share: the scalar takes the dtype of the array."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def constant(self, x: torch.Tensor) -> Any:
        """The scalar, rounded to what the array's dtype can hold."""
        if isinstance(self.value, (str, bytes)):
            raise TypeError(f"the other operand must be a number, an array or a Variable, got {self.value!r}")
        if x.is_floating_point():
            return float(self.value)
        return int(self.value) if x.dtype is not torch.bool else bool(self.value)


class Add(PairFunction):
    is_elementwise = True
    floats_only = False
    label = "_ + _"

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return a + b


class AddConstant(_WithConstant, AnyFunction):
    is_elementwise = True

    @property
    def label(self) -> str:
        return f"_ + {_text(self.value)}"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x + self.constant(x)


class MultiAdd(PairFunction):
    is_elementwise = True

    def check_type_forward(self, in_types: Any) -> None:
        for i, in_type in enumerate(in_types):
            type_check._argname((in_type,), (f"x{i}",))
            type_check.expect(in_types[0].dtype == in_type.dtype)

    def compute(self, *xs: torch.Tensor) -> torch.Tensor:
        total = xs[0]
        for x in xs[1:]:
            total = total + x
        return total


def add(*xs: Any) -> Variable:
    """The sum of two or more Variables, arrays or (as the second of two) a scalar."""
    if len(xs) != 2:
        return MultiAdd().apply(xs)[0]
    left, right = xs
    if _is_scalar(right):
        return AddConstant(right).apply((left,))[0]
    return Add().apply((left, _operand(left, right)))[0]


class Sub(PairFunction):
    is_elementwise = True
    floats_only = False
    label = "_ - _"

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return a - b


def sub(self: Any, rhs: Any) -> Variable:
    """`self - rhs`."""
    if _is_scalar(rhs):
        return AddConstant(-rhs).apply((self,))[0]
    return Sub().apply((self, _operand(self, rhs)))[0]


class SubFromConstant(_WithConstant, AnyFunction):
    is_elementwise = True

    @property
    def label(self) -> str:
        return f"{_text(self.value)} - _"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return self.constant(x) - x


def rsub(self: Any, rhs: Any) -> Variable:
    """`rhs - self`."""
    if _is_scalar(rhs):
        return SubFromConstant(rhs).apply((self,))[0]
    return Sub().apply((_operand(self, rhs), self))[0]


class Mul(PairFunction):
    is_elementwise = True
    label = "_ * _"

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return a * b


class MulConstant(_WithConstant, AnyFunction):
    is_elementwise = True

    @property
    def label(self) -> str:
        return f"_ * {_text(self.value)}"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x * self.constant(x)


def mul(self: Any, rhs: Any) -> Variable:
    """`self * rhs`, elementwise."""
    if _is_scalar(rhs):
        return MulConstant(rhs).apply((self,))[0]
    return Mul().apply((self, _operand(self, rhs)))[0]


class Div(PairFunction):
    is_elementwise = True
    label = "_ / _"

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return a / b


def div(self: Any, rhs: Any) -> Variable:
    """`self / rhs`, elementwise."""
    if _is_scalar(rhs):
        return MulConstant(1.0 / rhs).apply((self,))[0]
    return Div().apply((self, _operand(self, rhs)))[0]


class DivFromConstant(_WithConstant, FloatFunction):
    is_elementwise = True

    @property
    def label(self) -> str:
        return f"{_text(self.value)} / _"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return self.constant(x) / x


def rdiv(self: Any, rhs: Any) -> Variable:
    """`rhs / self`, elementwise."""
    if _is_scalar(rhs):
        return DivFromConstant(rhs).apply((self,))[0]
    return Div().apply((_operand(self, rhs), self))[0]


def floordiv(self: Any, rhs: Any) -> Variable:
    """`floor(self / rhs)`, which passes no gradient."""
    from ...functions.math.floor import floor

    return floor(div(self, rhs))


def rfloordiv(self: Any, rhs: Any) -> Variable:
    """`floor(rhs / self)`, which passes no gradient."""
    from ...functions.math.floor import floor

    return floor(rdiv(self, rhs))


class PowVarVar(PairFunction):
    is_elementwise = True
    label = "_ ** _"

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return a**b


class PowVarConst(_WithConstant, FloatFunction):
    is_elementwise = True

    @property
    def label(self) -> str:
        return f"_ ** {_text(self.value)}"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x ** self.constant(x)


class PowConstVar(_WithConstant, FloatFunction):
    is_elementwise = True

    @property
    def label(self) -> str:
        return f"{_text(self.value)} ** _"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return self.constant(x) ** x


def pow(self: Any, rhs: Any) -> Variable:
    """`self ** rhs`, elementwise."""
    if _is_scalar(rhs):
        return PowVarConst(rhs).apply((self,))[0]
    return PowVarVar().apply((self, _operand(self, rhs)))[0]


def rpow(self: Any, rhs: Any) -> Variable:
    """`rhs ** self`, elementwise."""
    if _is_scalar(rhs):
        return PowConstVar(rhs).apply((self,))[0]
    return PowVarVar().apply((_operand(self, rhs), self))[0]


def matmul(self: Any, rhs: Any) -> Variable:
    """`self @ rhs`."""
    from ...functions.math.matmul import matmul as function

    return function(self, _operand(self, rhs))


def rmatmul(self: Any, rhs: Any) -> Variable:
    """`rhs @ self`."""
    from ...functions.math.matmul import matmul as function

    return function(_operand(self, rhs), self)
