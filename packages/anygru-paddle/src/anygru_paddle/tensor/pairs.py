"""Functions of two tensors of one dtype: extremes, quotients, divisors, angles."""

from collections.abc import Callable
from typing import Any

import torch

from ..base.errors import divided_by_zero, no_kernel
from ..framework.dtype import torch_dtype
from ..framework.kinds import Operand
from .operation import NUMBERS, float_of_int, need_same_dtype, no_small, operation, promoted, row

__all__ = [
    "atan2", "floor_divide", "floor_mod", "fmax", "fmin", "gcd", "heaviside", "hypot", "lcm", "logaddexp", "maximum",
    "minimum", "mod", "nextafter", "remainder",
]  # fmt: skip

_SMALL = (torch.uint8, torch.int8, torch.int16)
_WITH_BF16 = (torch.bfloat16, *NUMBERS)


def _pair(
    name: str,
    compute: Callable[..., Any],
    what: str,
    small: tuple[torch.dtype, ...] = (),
    kernels: tuple[torch.dtype, ...] = NUMBERS,
    by: str = "y",
) -> Callable[..., Any]:
    def function(x: torch.Tensor, y: Operand, name: str | None = None) -> torch.Tensor:
        need_same_dtype(x, y, function.__name__, (*small, *kernels), by)
        no_small(x, function.__name__, small)
        return compute(x, y)

    return row(name, function, what + " Both tensors must have one dtype.")


def _floor_division(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point() and bool(torch.any(torch.eq(y, 0))):
        raise divided_by_zero()
    with torch.no_grad():  # no gradient in Paddle either
        return torch.floor_divide(x, y)


@torch.no_grad()
def _remainder(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point() and bool(torch.any(torch.eq(y, 0))):
        raise divided_by_zero()
    return torch.remainder(x, y)


def _maximum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    # Of equal values y gets the whole gradient, where torch.maximum shares it (recorded, 2.6.2).
    return torch.where(torch.gt(x, y), x, y)


def _minimum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.lt(x, y), x, y)


def _atan2(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.atan2(float_of_int(x), float_of_int(y))
    return out if x.is_floating_point() else torch.Tensor.to(out, torch.float64)  # of integers (recorded, 2.6.2)


@operation
def hypot(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """sqrt(x * x + y * y), of float32 and float64; y may hold int32 or int64."""
    for each in (x, y):
        if torch_dtype(each.dtype) not in NUMBERS[2:] and not (each is y and y.dtype in NUMBERS[:2]):
            raise no_kernel(f"(NotFound) hypot() is not implemented for {each.dtype}; cast to float32 first")
    y = y if y.is_floating_point() else torch.Tensor.to(y, torch_dtype(x.dtype))
    return torch.hypot(*promoted(x, y, "hypot", NUMBERS))


def _logaddexp(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.logaddexp(float_of_int(x), float_of_int(y))  # of integers in float32 (recorded, 2.6.2)


def _heaviside(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    # x gets a gradient of zeros, y gets the gradient where x is 0, and nan counts as below 0 (recorded, 2.6.2); torch gives
    # no gradient.
    step = torch.Tensor.to(torch.gt(x, 0), torch_dtype(x.dtype))
    out = torch.where(torch.eq(x, 0), y, step)
    return torch.add(out, torch.mul(torch.nan_to_num(x), 0)) if x.requires_grad else out


def _euclid(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The greatest common divisor by remainders, which Paddle 2.6.2 takes of floating-point numbers, too (recorded).

    Of nan it is nan, as of every infinite remainder; 2.6.2 does not return there (recorded).
    """
    x, y = torch.abs(x.detach()), torch.abs(y.detach())
    while bool(torch.any(torch.ne(y, 0) & ~torch.isnan(y))):
        rest = torch.where(torch.ne(y, 0), torch.remainder(x, torch.where(torch.eq(y, 0), 1, y)), 0)
        x, y = torch.where(torch.ne(y, 0), y, x), rest
    return torch.where(torch.isnan(y), y, x)


floor_divide = _pair(
    "floor_divide", _floor_division, "The quotient rounded down.", small=_SMALL, kernels=(torch.float16, *_WITH_BF16)
)
remainder = _pair("remainder", _remainder, "The remainder, with the sign of y.")
mod = floor_mod = remainder
maximum = _pair("maximum", _maximum, "The larger of the two.", kernels=_WITH_BF16)
minimum = _pair("minimum", _minimum, "The smaller of the two.", kernels=_WITH_BF16)
# For equal values x gets the whole gradient of these two, and y gets it for `maximum` and `minimum` (recorded, 2.6.2).
fmax = _pair("fmax", torch.fmax, "The larger of the two, leaving out nan.")
fmin = _pair("fmin", torch.fmin, "The smaller of the two, leaving out nan.")
atan2 = _pair("atan2", _atan2, "The angle of the point (y, x).", kernels=(torch.float16, *NUMBERS))
logaddexp = _pair("logaddexp", _logaddexp, "log(exp(x) + exp(y)).", kernels=_WITH_BF16, by="xy")
heaviside = _pair("heaviside", _heaviside, "The step function, y where x is 0.")
# Without a gradient in Paddle 2.6.2 (recorded); torch fails in backward.
nextafter = _pair(
    "nextafter",
    torch.no_grad()(torch.nextafter),
    "The next floating-point number from x towards y.",
    kernels=NUMBERS[2:],
    by="x",
)


def _divisor(name: str, compute: Callable[..., Any], what: str) -> Callable[..., Any]:
    def function(x: torch.Tensor, y: Operand, name: str | None = None) -> torch.Tensor:
        if isinstance(y, torch.Tensor):
            torch.broadcast_shapes(list(x.shape), list(y.shape))  # looked at first (recorded, 2.6.2)
        need_same_dtype(x, y, function.__name__, (*NUMBERS, torch.complex64, torch.complex128), by="xy")
        no_small(x, function.__name__)
        return compute(x, y)

    return row(name, function, what)


def _common_multiple(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        return torch.lcm(x, y)
    divisor = _euclid(x, y)
    product = torch.abs(torch.mul(x.detach(), y.detach()))
    return torch.where(
        torch.eq(divisor, 0), 0, torch.floor_divide(product, torch.where(torch.eq(divisor, 0), 1, divisor))
    )


def _common_divisor(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Of floats it has gradients of zeros in Paddle 2.6.2, where `lcm` stops them (recorded)."""
    if not x.is_floating_point():
        return torch.gcd(x, y)
    return torch.add(_euclid(x, y), torch.mul(torch.add(torch.sign(x), torch.sign(y)), 0))


gcd = _divisor("gcd", _common_divisor, "Greatest common divisor.")
lcm = _divisor("lcm", _common_multiple, "Least common multiple.")
