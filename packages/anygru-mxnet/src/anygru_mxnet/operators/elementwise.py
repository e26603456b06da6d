"""Operators on each element: functions of one variable, casts and bounds."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from anygru.extend import single

from ..base import DtypeLike, MXNetError, torch_dtype
from .arithmetic import as_number, whole_of
from .flat import unchanging
from .registry import operator


def _truncated(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Apply a function of real numbers. For an integer array the results are truncated, as in MXNet."""

    def compute(data: Tensor) -> Tensor:
        if data.dtype.is_floating_point:
            return function(data)
        return whole_of(function(data.double()), data.dtype)

    return compute


_FACTORIALS = tuple(float(math.factorial(n)) for n in range(21))


def _gamma(x: Tensor) -> Tensor:
    """The gamma function, with its sign; exact for small whole numbers."""
    wide = x.double()
    below = wide.detach().floor()
    # In MXNet 1.9.1 the results are exactly 24 for 5, inf for 0, -inf for -0 and NaN for -1 (observed), unlike exp of lgamma.
    whole = below == wide.detach()
    # The sign alternates between the poles. A pole has no sign, except 0, which has the sign of the zero.
    sign = torch.where(below.remainder(2) == 0, 1.0, -1.0).where(wide < 0, 1.0)
    sign = torch.where(
        wide == 0, torch.copysign(torch.ones_like(wide), wide), sign.masked_fill(whole & (wide < 0), math.nan)
    )
    result = torch.exp(torch.lgamma(wide)) * sign
    small = whole & (wide > 0) & (wide <= len(_FACTORIALS))
    if bool(small.any()):
        exact = wide.new_tensor(_FACTORIALS)[torch.where(small, below - 1, 0).long()]
        result = result + (exact - result).detach().where(small, 0.0)
    return result.to(x.dtype)


def round_away(x: Tensor) -> Tensor:
    """The nearest integer; halves are rounded away from 0."""
    # Adding a half would round the float32 0.49999997 up, because the sum is rounded.
    size = x.abs()
    below = size.floor()
    return torch.sign(x) * (below + (size - below >= 0.5))


def round_half_down(x: Tensor) -> Tensor:
    """The nearest integer."""
    # torch.round rounds halves to even numbers, MXNet 1.9.1's rint rounds them down: -0.5 is -1, 0.5 is 0 (observed).
    below, above = x.floor(), x.ceil()
    return torch.where(x - below <= above - x, below, above)


class _CubeRoot(torch.autograd.Function):
    """The signed cube root, with an infinite derivative at 0 as in MXNet 1.9.1 (recorded)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        root = torch.sign(x) * x.abs().pow(1 / 3)
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (root,) = ctx.saved_tensors
        return gradients[0] / (3 * root * root)


def _cube_root(x: Tensor) -> Tensor:
    return _CubeRoot.apply(x) if x.requires_grad else torch.sign(x) * x.abs().pow(1 / 3)


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softsign": functional.softsign,
    "exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2, "log10": torch.log10,
    "log1p": torch.log1p, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "square": torch.square,
    "cbrt": _cube_root, "rcbrt": lambda x: torch.copysign(x.abs().pow(-1 / 3), x),
    "reciprocal": torch.reciprocal, "abs": torch.abs, "sign": torch.sign, "negative": torch.neg,
    "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc, "fix": torch.trunc, "round": round_away,
    "rint": round_half_down,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "arcsin": torch.arcsin, "arccos": torch.arccos,
    "arctan": torch.arctan, "sinh": torch.sinh, "cosh": torch.cosh, "arcsinh": torch.arcsinh,
    "arccosh": torch.arccosh, "arctanh": torch.arctanh, "degrees": torch.rad2deg, "radians": torch.deg2rad,
    "erf": torch.erf, "gammaln": torch.lgamma,
    "gamma": _gamma,
}  # fmt: skip
for _name, _unary in UNARY.items():
    operator(_name, alike=True, pointwise=True)(_truncated(_unary))


@operator("erfinv", alike=True, pointwise=True)
def _erfinv(data: Tensor) -> Tensor:
    if data.dtype.is_floating_point:
        return torch.erfinv(data)
    # Beyond 1 the result is NaN, which is 0 in MXNet's integers (1.9.1, recorded).
    return torch.where(data.abs() > 1, 0, whole_of(torch.erfinv(data.double()), data.dtype))


@operator("_copy", "identity", copies=True, alike=True)
def _identity(data: Tensor) -> Tensor:
    return data


@operator("BlockGrad", "stop_gradient", alike=True, loss=True)
@unchanging
def _block_grad(data: Tensor) -> Tensor:
    return data.detach().clone()


class _Loss(torch.autograd.Function):
    """The data as a loss. Its gradient is a constant and ignores the upstream gradient."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return data.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        # `make_loss(x) * 3` has the gradient 1, not 3 (MXNet 1.9.1, observed).
        return torch.full_like(gradient, ctx.scale), None


@operator("_contrib_div_sqrt_dim", alike=True)
def _div_sqrt_dim(data: Tensor) -> Tensor:
    return data / math.sqrt(data.shape[-1])


@operator("make_loss", alike=True, loss=True)
def _make_loss(data: Tensor) -> Tensor:
    return _Loss.apply(data, 1.0)


@operator("MakeLoss", loss=True)
def _make_scaled_loss(
    data: Tensor, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = "null"
) -> Tensor:
    if normalization == "batch":
        grad_scale /= data.shape[0]
    elif normalization == "valid":
        # If no element is above the threshold, the divisor is 1, as in MXNet 1.9.1 (observed).
        grad_scale /= max(1, int((data > valid_thresh).sum()))
    elif normalization != "null":
        raise MXNetError(f"MakeLoss: normalization must be null, batch or valid, got {normalization!r}")
    return _Loss.apply(data, grad_scale)


@operator("Cast", "cast", "amp_cast", copies=True, alike=True)
def _cast(data: Tensor, dtype: DtypeLike) -> Tensor:
    return data.to(torch_dtype(dtype))


@operator("zeros_like", alike=True)
@unchanging
def _zeros_like(data: Tensor) -> Tensor:
    return torch.zeros_like(data)


@operator("ones_like", alike=True)
@unchanging
def _ones_like(data: Tensor) -> Tensor:
    return torch.ones_like(data)


@operator("shape_array")
def _shape_array(data: Tensor) -> Tensor:
    return torch.tensor(data.shape, dtype=torch.int64, device=data.device)


@operator("size_array")
def _size_array(data: Tensor) -> Tensor:
    return torch.tensor([data.numel()], dtype=torch.int64, device=data.device)


@operator("logical_not", alike=True)
@unchanging
def _logical_not(data: Tensor) -> Tensor:
    return torch.logical_not(data).to(data.dtype)


@operator("clip", alike=True, pointwise=True)
def _clip(data: Tensor, a_min: float, a_max: float) -> Tensor:
    low, high = single(a_min), single(a_max)
    if data.dtype.is_floating_point and low <= high:
        return torch.clamp(data, low, high)
    # The upper bound takes precedence if it is below the lower bound (MXNet 1.9.1, recorded).
    ends = [torch.as_tensor(as_number(end, data), dtype=data.dtype, device=data.device) for end in (low, high)]
    return torch.where(data > high, ends[1], torch.where(data < low, ends[0], data))


@operator("hard_sigmoid", alike=True)
def _hard_sigmoid(data: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    if not data.dtype.is_floating_point:
        raise MXNetError(f"hard_sigmoid: data must be of a floating dtype, got {data.dtype}; use astype")
    # The gradient at the bounds is 0, and 1 in torch.clamp.
    return torch.nn.functional.hardtanh(data * single(alpha) + single(beta), 0.0, 1.0)


@operator("smooth_l1", alike=True, pointwise=True)
def _smooth_l1(data: Tensor, scalar: float = 1.0) -> Tensor:
    edge = 1.0 / scalar**2
    return torch.where(data.abs() < edge, 0.5 * scalar**2 * data * data, data.abs() - 0.5 * edge).to(data.dtype)
