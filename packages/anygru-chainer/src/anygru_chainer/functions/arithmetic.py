"""Arithmetic, the operators of Variables, and elementwise functions of mathematics."""

import operator
from collections.abc import Callable
from typing import Any

import numpy
import torch

from .. import backend
from ..backends import cuda
from ..types import VariableLike
from ..utils.helpers import force_array
from ..variable import Variable, as_array, as_variable
from ._rows import Row, Tensor, Type, broadcastable, elementwise, function, move, one_dtype, one_shape, real

__all__ = [
    "absolute", "add", "arccos", "arcsin", "arctan", "arctan2", "arctanh", "ceil", "clip", "cos", "cosh", "digamma",
    "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "expm1", "fix", "floor", "fmod", "identity", "lgamma",
    "linear_interpolate", "log", "log10", "log1p", "log2", "log_ndtr", "maximum", "minimum", "ndtr", "ndtri", "rsqrt",
    "sign", "sin", "sinh", "sqrt", "square", "tan",
]  # fmt: skip

Arccos, arccos = elementwise("Arccos", torch.acos, "Inverse cosine, elementwise.")
Arcsin, arcsin = elementwise("Arcsin", torch.asin, "Inverse sine, elementwise.")
Arctan, arctan = elementwise("Arctan", torch.atan, "Inverse tangent, elementwise.")
Arctanh, arctanh = elementwise("Arctanh", torch.atanh, "Inverse hyperbolic tangent, elementwise.")
Cos, cos = elementwise("Cos", torch.cos, "Cosine, elementwise.", "cos")
Cosh, cosh = elementwise("Cosh", torch.cosh, "Hyperbolic cosine, elementwise.", "cosh")
DiGamma, digamma = elementwise("DiGamma", torch.digamma, "The digamma function, elementwise.", "digamma")
Erf, erf = elementwise("Erf", torch.erf, "The error function, elementwise.", "erf")
Erfc, erfc = elementwise("Erfc", torch.erfc, "`1 - erf(x)`, elementwise.", "erfc")


def _wide(compute: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The same function, with float16 computed in float32: torch has these for wider types only."""
    return lambda x: compute(x.float()).half() if x.dtype == torch.float16 else compute(x)


ErfcInv, erfcinv = elementwise(
    "ErfcInv", _wide(lambda x: torch.special.ndtri(x / 2) / -(2**0.5)), "The inverse of `erfc`, elementwise.", "erfcinv"
)
Erfcx, erfcx = elementwise("Erfcx", _wide(torch.special.erfcx), "`exp(x^2) * erfc(x)`, elementwise.", "erfcx")
ErfInv, erfinv = elementwise("ErfInv", torch.erfinv, "The inverse error function, elementwise.", "erfinv")
Exp, exp = elementwise("Exp", torch.exp, "`exp(x)`, elementwise.", "exp")
Expm1, expm1 = elementwise("Expm1", torch.expm1, "`exp(x) - 1`, elementwise, exact near zero.", "expm1")
LGamma, lgamma = elementwise("LGamma", torch.lgamma, "The logarithm of the gamma function, elementwise.", "lgamma")
Log, log = elementwise("Log", torch.log, "The natural logarithm, elementwise.", "log")
Log10, log10 = elementwise("Log10", torch.log10, "The logarithm to base 10, elementwise.", "log10")
Log1p, log1p = elementwise("Log1p", torch.log1p, "`log(1 + x)`, elementwise, exact near zero.", "log1p")
Log2, log2 = elementwise("Log2", torch.log2, "The logarithm to base 2, elementwise.", "log2")
LogNdtr, log_ndtr = elementwise(
    "LogNdtr", _wide(torch.special.log_ndtr), "The logarithm of `ndtr`, elementwise.", "log_ndtr"
)
Ndtr, ndtr = elementwise("Ndtr", torch.special.ndtr, "The normal distribution's function, elementwise.", "ndtr")
Ndtri, ndtri = elementwise("Ndtri", _wide(torch.special.ndtri), "The inverse of `ndtr`, elementwise.", "ndtri")
Sin, sin = elementwise("Sin", torch.sin, "Sine, elementwise.", "sin")
Sinh, sinh = elementwise("Sinh", torch.sinh, "Hyperbolic sine, elementwise.", "sinh")
Sqrt, sqrt = elementwise("Sqrt", torch.sqrt, "The square root, elementwise.", "sqrt")
Square, square = elementwise("Square", torch.square, "The square, elementwise.", "square")
Tan, tan = elementwise("Tan", torch.tan, "Tangent, elementwise.", "tan")


def _rounding(name: str, doc: str, of_numpy: str | None = None) -> Callable[[Any], Variable]:
    def call(x: VariableLike) -> Variable:
        array = as_array(x)
        compute = getattr(backend.get_array_module(array), of_numpy or name)
        return as_variable(force_array(compute(array), array.dtype))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc}; no gradient flows back."
    return call


ceil = _rounding("ceil", "The smallest integers above, in the dtype of `x`")
fix = _rounding("fix", "The nearest integers towards zero, in the dtype of `x`", "trunc")
floor = _rounding("floor", "The largest integers below, in the dtype of `x`")
sign = _rounding("sign", "-1, 0 or 1, elementwise")


def rsqrt(x: VariableLike) -> Variable:
    """`1 / sqrt(x)`, elementwise."""
    return 1.0 / sqrt(x)


def magnitude(x: Tensor) -> Tensor:
    """`|x|` with a gradient that does not depend on x: the gradient of torch's abs cannot be converted to NumPy."""
    return x * x.detach().sign() + 0.0  # turns -0.0 into 0.0


@function("Absolute", real, label="|_|", is_elementwise=True, named=False)
def absolute(x: Tensor) -> Tensor:
    """`|x|`, elementwise."""
    return magnitude(x)


def _bounds(x_min: float | None, x_max: float | None) -> tuple[float | None, float | None]:
    if x_min is None and x_max is None:
        raise ValueError("must set either max or min")
    if x_min is not None and x_max is not None and x_min >= x_max:
        raise ValueError(f"x_min must be less than x_max, got {x_min} and {x_max}")
    return x_min, x_max


@function("Clip", real, prepare=_bounds)
def clip(x: Tensor, x_min: float | None, x_max: float | None) -> Tensor:
    """`x`, held between `x_min` and `x_max` (None: no bound)."""
    # On a bound the slope is 1, as torch has it and unlike `clipped_relu` (Chainer 7.8.1, seen).
    return x.clamp(x_min, x_max)


@function("Maximum", real, one_dtype, broadcastable, is_elementwise=True)
def maximum(x1: Tensor, x2: Tensor) -> Tensor:
    """The larger of two arrays, elementwise."""
    # Of two equal elements the first gets the gradient (Chainer 7.8.1, Maximum, recorded).
    return torch.where((x1 >= x2) | x1.isnan(), x1, x2)


@function("Minimum", real, one_dtype, broadcastable, is_elementwise=True)
def minimum(x1: Tensor, x2: Tensor) -> Tensor:
    """The smaller of two arrays, elementwise."""
    return torch.where((x1 <= x2) | x1.isnan(), x1, x2)


@function("Arctan2", real, one_dtype)
def arctan2(x1: Tensor, x2: Tensor) -> Tensor:
    """The angle of the point (x2, x1), elementwise."""
    return torch.atan2(x1, x2)


@function("Fmod", real, one_dtype, label="fmod", gradient_inputs=())
def fmod(x: Tensor, divisor: Tensor) -> Tensor:
    """The remainder of a division that rounds towards zero, elementwise."""
    return torch.fmod(x, divisor)


@function("LinearInterpolate", real, one_dtype, one_shape)
def linear_interpolate(p: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """`p * x + (1 - p) * y`, elementwise."""
    return p * x + (1 - p) * y


@function("Identity", by_numpy=move)
def identity(*inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
    """The inputs: a Variable for one input, a tuple for several."""
    # New tensors on the same memory: autograd needs outputs that are not the leaves themselves.
    outputs = tuple(x.view_as(x) for x in inputs)
    return outputs[0] if len(outputs) == 1 else outputs


Operand = Any
"""A Variable, an array or a number."""


def _is_scalar(value: Operand) -> bool:
    return bool(numpy.isscalar(value))


def _text(value: Operand) -> str:
    return f"({value})" if value < 0 else str(value)


def _operand(x: VariableLike, value: Operand) -> Any:
    """The other operand: a Variable, or an array or a number cast to the dtype of `x`; TypeError for another type."""
    if isinstance(value, Variable):
        return value
    if not (_is_scalar(value) or isinstance(value, (numpy.ndarray, cuda.ndarray))):
        raise TypeError(
            f"Value must be a scalar, `numpy.ndarray`, `cupy.ndarray` or a `Variable`.\nActual: {type(value)}"
        )
    # Only a bare array is cast: a Variable of another dtype is InvalidType (Chainer 7.8.1, seen).
    return value.astype(x.dtype, copy=False)


def _constant(value: Operand, x: Tensor) -> Any:
    """A scalar, rounded to the array's dtype."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"the other operand must be a number, an array or a Variable, got {value!r}")
    if x.is_floating_point():
        return float(value)
    if x.dtype is torch.bool:
        return bool(value)
    limits = torch.iinfo(x.dtype)
    # It wraps around: 1 + 300 is 45 in uint8, and 1.7 is 1 for whole numbers (Chainer 7.8.1, seen).
    return (int(value) - limits.min) % (limits.max - limits.min + 1) + limits.min


_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def _of_integers(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """torch has no sums of unsigned integers wider than a byte: they are computed as signed ones of the same bits."""

    def computed(x: Tensor, *operands: Any) -> Tensor:
        signed = _SIGNED.get(x.dtype)
        if signed is None:
            return compute(x, *operands)
        others = [other.view(signed) if isinstance(other, Tensor) else other for other in operands]
        return compute(x.view(signed), *others).view(x.dtype)

    return computed


def _with_array(name: str, sign: str, compute: Callable[[Any, Any], Any], floats: bool = True) -> type[Row]:
    """The node of an operator between two arrays."""
    members = {
        "body": staticmethod(_of_integers(compute)),
        "checks": (real, one_dtype, broadcastable) if floats else (one_dtype, broadcastable),
        "inputs_named": ("lhs", "rhs"),
        "by_numpy": lambda node, lhs, rhs: compute(lhs, rhs),
        "text": f"_ {sign} _",
        "is_elementwise": True,
    }
    return type(name, (Row,), members)


def _with_constant(
    name: str,
    text: str,
    compute: Callable[[Any, Any], Any],
    floats: bool = False,
    gradient_inputs: tuple[int, ...] | None = None,
) -> type[Row]:
    """The node of an operator between an array and a scalar; `text` has "{}" for the scalar."""

    def __init__(self: VariableLike, value: Operand) -> None:
        self.value = value
        self._values = (value,)

    members = {
        "__init__": __init__,
        "body": staticmethod(_of_integers(lambda x, value: compute(x, _constant(value, x)))),
        "checks": (real,) if floats else (),
        "by_numpy": lambda node, x: compute(x, node.value),
        "text": lambda node: text.format(_text(node.value)),
        "is_elementwise": True,
        "gradient_inputs": gradient_inputs,
    }
    return type(name, (Row,), members)


Add = _with_array("Add", "+", operator.add, floats=False)
Sub = _with_array("Sub", "-", operator.sub, floats=False)
Mul = _with_array("Mul", "*", operator.mul)
Div = _with_array("Div", "/", operator.truediv)
PowVarVar = _with_array("PowVarVar", "**", operator.pow)
AddConstant = _with_constant("AddConstant", "_ + {}", operator.add)
SubFromConstant = _with_constant("SubFromConstant", "{} - _", lambda x, value: value - x)
MulConstant = _with_constant("MulConstant", "_ * {}", operator.mul)
DivFromConstant = _with_constant("DivFromConstant", "{} / _", lambda x, value: value / x, floats=True)
PowVarConst = _with_constant("PowVarConst", "_ ** {}", operator.pow, floats=True, gradient_inputs=(0,))
PowConstVar = _with_constant("PowConstVar", "{} ** _", lambda x, value: value**x, floats=True)


def _operator(
    with_array: type[Row], with_constant: type[Row], reflected: bool = False, scalar: Callable[[Any], Any] = lambda c: c
) -> Callable[[Any, Operand], Variable]:
    """The function of an operator; `scalar` maps a scalar operand to the operand of `with_constant`."""

    def apply(self: VariableLike, rhs: Operand) -> Variable:
        if _is_scalar(rhs):
            return with_constant(scalar(rhs)).result((self,))
        other = _operand(self, rhs)
        return with_array().result((other, self) if reflected else (self, other))

    return apply


sub = _operator(Sub, AddConstant, scalar=operator.neg)
rsub = _operator(Sub, SubFromConstant, reflected=True)
mul = _operator(Mul, MulConstant)
# A product with the inverse, which rounds twice (Chainer 7.8.1, `basic_math.py`, read): 1 / 3 is not always exact.
div = _operator(Div, MulConstant, scalar=lambda value: 1.0 / value)
rdiv = _operator(Div, DivFromConstant, reflected=True)
pow = _operator(PowVarVar, PowVarConst)
rpow = _operator(PowVarVar, PowConstVar, reflected=True)
_add = _operator(Add, AddConstant)


def _all_of_one_dtype(node: object, *xs: Type) -> None:
    one_dtype(node, *xs)


@function("MultiAdd", _all_of_one_dtype, is_elementwise=True)
def _sum_of(*xs: Tensor) -> Tensor:
    return sum(xs[1:], start=xs[0])


def add(*xs: Operand) -> Variable:
    """The sum of two or more Variables, arrays or (as the second of two) a scalar."""
    return _add(*xs) if len(xs) == 2 else _sum_of(*xs)


@function("Neg", label="__neg__", is_elementwise=True, by_numpy=lambda node, x: -x)
def neg(x: Tensor) -> Tensor:
    """`-x`."""
    return _of_integers(torch.neg)(x)


def floordiv(self: VariableLike, rhs: Operand) -> Variable:
    """`floor(self / rhs)`, which passes no gradient."""
    return floor(div(self, rhs))


def rfloordiv(self: VariableLike, rhs: Operand) -> Variable:
    """`floor(rhs / self)`, which passes no gradient."""
    return floor(rdiv(self, rhs))
