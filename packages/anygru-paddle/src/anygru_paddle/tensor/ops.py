"""Functions of one tensor, element by element: exp, tanh, sqrt ...

Paddle's kernels treat integers differently: some keep them, some compute in float32, most refuse.
"""

from collections.abc import Callable
from typing import Any

import torch

from ..base.errors import paddles
from .operation import NUMBERS, float_of_int, need_float, need_tensor, operation, row, times

__all__ = [
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "deg2rad",
    "digamma", "erf", "erfinv", "exp", "expm1", "floor", "frac", "i0", "i1", "isfinite", "isinf", "isnan", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "rad2deg", "reciprocal", "round", "rsqrt", "sgn", "sign",
    "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip

Unary = Callable[..., Any]


def _floats(name: str, compute: Unary, what: str) -> Unary:
    def function(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
        need_float(x, function.__name__)
        return compute(x)

    return row(name, function, what + " Floating-point tensors only.")


def _widening(name: str, compute: Unary, what: str, bools: bool = False) -> Unary:
    def function(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
        need_tensor(x, "x", function.__name__)
        return (
            _of_bool(torch.Tensor.clone, lambda x: compute(float_of_int(x)))(x) if bools else compute(float_of_int(x))
        )

    return row(name, function, what + " Integers are computed in float32.")


def _of_bool(bools: Unary, others: Unary) -> Unary:
    """One function of bools, another of numbers: Paddle 2.6.2 multiplies bools, and only 0 gives False (recorded)."""
    return lambda x: bools(x) if x.dtype == torch.bool else others(x)


def _fraction(x: torch.Tensor) -> torch.Tensor:
    if x.dtype not in NUMBERS:
        names = [f"paddle.{str(each).removeprefix('torch.')}" for each in NUMBERS]
        raise paddles(TypeError(f"The data type of input must be one of {names}, but got {x.dtype}"))
    return torch.frac(x) if x.is_floating_point() else torch.zeros_like(x)


def _erfinv(x: torch.Tensor) -> torch.Tensor:
    """Beyond 1 the result and its gradient are infinite, where torch gives nan (recorded, 2.6.2)."""
    held = torch.clamp(x.detach(), -1, 1)
    return torch.erfinv(torch.add(held, torch.sub(x, x.detach())) if x.requires_grad else held)


def _any(name: str, compute: Unary, what: str) -> Unary:
    def function(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
        need_tensor(x, "x", function.__name__)
        return compute(x)

    return row(name, function, what)


sin = _floats("sin", torch.sin, "Sine.")
cos = _floats("cos", torch.cos, "Cosine.")
tan = _floats("tan", torch.tan, "Tangent.")
asin = _floats("asin", torch.asin, "Inverse sine.")
acos = _floats("acos", torch.acos, "Inverse cosine.")
atan = _floats("atan", torch.atan, "Inverse tangent.")
sinh = _floats("sinh", torch.sinh, "Hyperbolic sine.")
cosh = _floats("cosh", torch.cosh, "Hyperbolic cosine.")
tanh = _floats("tanh", torch.tanh, "Hyperbolic tangent.")
asinh = _floats("asinh", torch.asinh, "Inverse hyperbolic sine.")
acosh = _floats("acosh", torch.acosh, "Inverse hyperbolic cosine.")
atanh = _floats("atanh", torch.atanh, "Inverse hyperbolic tangent.")
sigmoid = _floats("sigmoid", torch.sigmoid, "1 / (1 + exp(-x)).")
sqrt = _floats("sqrt", torch.sqrt, "Square root.")
rsqrt = _floats("rsqrt", torch.rsqrt, "1 / square root.")
erf = _floats("erf", torch.erf, "Error function.")
erfinv = _floats("erfinv", _erfinv, "Inverse of the error function.")
floor = _floats("floor", torch.floor, "The next integer below.")
ceil = _floats("ceil", torch.ceil, "The next integer above.")
reciprocal = _floats("reciprocal", torch.reciprocal, "1 / x.")
digamma = _floats("digamma", torch.digamma, "Derivative of the logarithm of the gamma function.")
lgamma = _floats("lgamma", torch.lgamma, "Logarithm of the gamma function.")
i0 = _floats("i0", torch.special.i0, "Modified Bessel function, first kind, order 0.")
i1 = _floats("i1", torch.special.i1, "Modified Bessel function, first kind, order 1.")
exp = _widening("exp", torch.exp, "e to the power x.")
expm1 = _widening("expm1", torch.expm1, "exp(x) - 1.")
log = _widening("log", torch.log, "Natural logarithm.")
log2 = _widening("log2", torch.log2, "Logarithm to base 2.")
log10 = _widening("log10", torch.log10, "Logarithm to base 10.")
log1p = _widening("log1p", torch.log1p, "Natural logarithm of 1 + x.")
deg2rad = _widening("deg2rad", torch.deg2rad, "Degrees to radians.", bools=True)
rad2deg = _widening("rad2deg", torch.rad2deg, "Radians to degrees.", bools=True)
abs = _any("abs", torch.abs, "Absolute value.")
square = _any("square", torch.square, "x * x.")  # keeps integers (recorded, 2.6.2)
neg = _any("neg", _of_bool(torch.clone, lambda x: times(x, -1)), "-x.")
sign = _any("sign", torch.sign, "-1, 0 or 1 by the sign of x.")
sgn = _any(
    "sgn", lambda x: torch.sgn(x) if x.is_complex() else torch.sign(x), "The sign of x; for complex numbers x / |x|."
)


@operation
def trunc(input: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The integer part."""
    return torch.trunc(input)


frac = _any("frac", lambda x: _fraction(x), "The part after the point.")
isnan = _any("isnan", torch.isnan, "Where x is not a number.")
isinf = _any("isinf", torch.isinf, "Where x is infinite.")
isfinite = _any("isfinite", torch.isfinite, "Where x is finite.")
# torch.conj only marks the tensor; its memory, which `numpy()` and others read, must hold the conjugate.
conj = _any("conj", lambda x: torch.conj_physical(x) if x.is_complex() else torch.clone(x), "Complex conjugate.")
angle = _floats("angle", torch.angle, "Angle of the complex number.")


@operation
def round(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The nearest integer; halves go away from zero, as in C."""
    need_float(x, "round")
    # torch.round gives halves to the even neighbour.
    return torch.where(torch.frac(x).abs() == 0.5, torch.trunc(x) + torch.sign(x), torch.round(x))
