"""Operators on each element: arithmetic, comparisons, functions of one variable."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from anygru.extend import single

from ..base import DtypeLike, MXNetError, torch_dtype
from .flat import flat, unchanging
from .registry import operator, truth

Binary = Callable[[Any, Any], Tensor]


def same_dtype(*tensors: Tensor) -> None:
    """Refuse tensors of different dtypes, as MXNet's operators do.

    Raises:
        MXNetError: naming the two dtypes.
    """
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype != first:
            raise MXNetError(f"inputs must have one dtype: expected {first}, got {tensor.dtype}; use astype")


def as_number(value: Any, tensor: Tensor) -> float | int:
    """A Python number as MXNet takes it: cut to the array's dtype."""
    return float(value) if tensor.dtype.is_floating_point else int(value)


def _divide(a: Any, b: Any) -> Tensor:
    whole = not (a if isinstance(a, Tensor) else b).dtype.is_floating_point
    return torch.div(a, b, rounding_mode="trunc") if whole else torch.div(a, b)


def _remainder(a: Tensor, b: Tensor) -> Tensor:
    """The remainder, with the divisor's sign; of a division by zero it is 0."""
    zero = b == 0
    return torch.where(zero, 0, torch.remainder(a, torch.where(zero, 1, b)))


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
    """Let a torch function of two tensors take a number on either side."""

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
    "power": lambda a, b: torch.pow(a, b),
    # Where both are equal the gradient goes to the first, not to both halves as in torch.maximum; NaN beats every number.
    "maximum": _scalar_first(lambda a, b: torch.where((a < b) | (b != b), b, a)),
    "minimum": _scalar_first(lambda a, b: torch.where((a > b) | (b != b), b, a)),
    "hypot": _scalar_first(torch.hypot),
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
        return function(data, as_number(scalar, data))

    def from_scalar(data: Tensor, scalar: float = 1.0, is_int: bool = True) -> Tensor:
        return function(as_number(scalar, data), data)

    own = f"elemwise_{name}" if name in ("add", "sub", "mul", "div") else f"_{name}"
    names = [own, f"_{stem}", *([f"_{title}"] if title else [])]
    broadcasts = [f"broadcast_{name}", *([f"broadcast_{stem}"] if stem != name else [])]
    operator(broadcasts[0], *broadcasts[1:], inputs=2)(broadcast)
    operator(*dict.fromkeys(names), inputs=2, alike=True)(elementwise)
    operator(f"_{stem}_scalar", *([f"_{title}Scalar"] if title else []), alike=True)(with_scalar)
    if name in ("sub", "div", "mod", "power"):
        operator(f"_r{stem}_scalar", f"_R{title}Scalar", alike=True)(from_scalar)


for _name, _function in BINARY.items():
    _register_binary(_name, _function)


def _keep_whole(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Apply a function of real numbers; an integer array gives its result cut to integers, as in MXNet."""

    def compute(data: Tensor) -> Tensor:
        if data.dtype.is_floating_point:
            return function(data)
        return function(data.double()).to(data.dtype)

    return compute


def _round_away(x: Tensor) -> Tensor:
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softsign": functional.softsign,
    "exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2, "log10": torch.log10,
    "log1p": torch.log1p, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "square": torch.square,
    "cbrt": lambda x: torch.sign(x) * x.abs().pow(1 / 3), "rcbrt": lambda x: torch.sign(x) * x.abs().pow(-1 / 3),
    "reciprocal": torch.reciprocal, "abs": torch.abs, "sign": torch.sign, "negative": torch.neg,
    "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc, "fix": torch.trunc, "round": _round_away,
    "rint": lambda x: torch.ceil(x - 0.5),
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "arcsin": torch.arcsin, "arccos": torch.arccos,
    "arctan": torch.arctan, "sinh": torch.sinh, "cosh": torch.cosh, "arcsinh": torch.arcsinh,
    "arccosh": torch.arccosh, "arctanh": torch.arctanh, "degrees": torch.rad2deg, "radians": torch.deg2rad,
    "erf": torch.erf, "erfinv": torch.erfinv, "gammaln": torch.lgamma,
    "gamma": lambda x: torch.exp(torch.lgamma(x)),
}  # fmt: skip
for _name, _unary in UNARY.items():
    operator(_name, alike=True)(_keep_whole(_unary))


@operator("_copy", "identity", copies=True, alike=True)
def _identity(data: Tensor) -> Tensor:
    return data


@operator("BlockGrad", "stop_gradient", alike=True)
@unchanging
def _block_grad(data: Tensor) -> Tensor:
    return data.detach().clone()


class _Loss(torch.autograd.Function):
    """A loss to descend from: its gradient is a number, whatever is computed from it."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return data.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return torch.full_like(gradient, ctx.scale), None


@operator("_contrib_div_sqrt_dim", alike=True)
def _div_sqrt_dim(data: Tensor) -> Tensor:
    return data / math.sqrt(data.shape[-1])


@operator("make_loss", alike=True)
def _make_loss(data: Tensor) -> Tensor:
    return _Loss.apply(data, 1.0)


@operator("MakeLoss")
def _make_scaled_loss(
    data: Tensor, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = "null"
) -> Tensor:
    if normalization == "batch":
        grad_scale /= data.shape[0]
    elif normalization == "valid":
        grad_scale /= max(1, int((data > valid_thresh).sum()))
    elif normalization != "null":
        raise MXNetError(f"MakeLoss: normalization must be null, batch or valid, got {normalization!r}")
    return _Loss.apply(data, grad_scale)


@operator("Cast", "cast", "amp_cast", copies=True, alike=True)
def _cast(data: Tensor, dtype: DtypeLike) -> Tensor:
    return data.to(torch_dtype(dtype))


@operator("zeros_like", alike=True)
@unchanging
def _zeros_like(data: Tensor, dtype: DtypeLike = None) -> Tensor:
    return torch.zeros_like(data, dtype=None if dtype is None else torch_dtype(dtype))


@operator("ones_like", alike=True)
@unchanging
def _ones_like(data: Tensor, dtype: DtypeLike = None) -> Tensor:
    return torch.ones_like(data, dtype=None if dtype is None else torch_dtype(dtype))


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


@operator("clip", alike=True)
def _clip(data: Tensor, a_min: float, a_max: float) -> Tensor:
    return torch.clamp(data, as_number(single(a_min), data), as_number(single(a_max), data))


@operator("hard_sigmoid", alike=True)
def _hard_sigmoid(data: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return torch.clamp(data * single(alpha) + single(beta), 0, 1)


@operator("smooth_l1", alike=True)
def _smooth_l1(data: Tensor, scalar: float = 1.0) -> Tensor:
    edge = 1.0 / scalar**2
    return torch.where(data.abs() < edge, 0.5 * scalar**2 * data * data, data.abs() - 0.5 * edge)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softrelu": functional.softplus,
    "softsign": functional.softsign,
}


@operator("Activation", alike=True)
def _activation(data: Tensor, act_type: str) -> Tensor:
    if act_type not in ACTIVATIONS:
        raise MXNetError(f"Activation: act_type must be one of {', '.join(ACTIVATIONS)}, got {act_type!r}")
    return ACTIVATIONS[act_type](data)


def _slopes(gamma: Tensor, data: Tensor) -> Tensor:
    """Slopes of a parametric ReLU, one a channel (axis 1) or one for all."""
    return gamma if gamma.numel() == 1 else gamma.reshape((-1,) + (1,) * (data.dim() - 2))


def _slopes_shape(attributes: Mapping[str, Any], shapes: list) -> list:
    if len(shapes) < 2 or shapes[0] is None or shapes[1] is not None:
        return shapes
    return [shapes[0], (shapes[0][min(1, len(shapes[0]) - 1)],)]


@operator(
    "LeakyReLU",
    inputs=2,
    infer=_slopes_shape,
    begins={"gamma": '["Constant", {"value": 0.25}]'},
    needs=lambda attributes: ["data", "gamma"] if attributes.get("act_type") == "prelu" else ["data"],
)
def _leaky_relu(
    data: Tensor,
    gamma: Tensor | None = None,
    act_type: str = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
) -> Tensor:
    slope = single(slope)
    if act_type == "leaky":
        return functional.leaky_relu(data, slope)
    if act_type == "prelu":
        if gamma is None:
            raise MXNetError("LeakyReLU: act_type='prelu' needs gamma")
        return torch.where(data > 0, data, data * _slopes(gamma, data))
    if act_type == "elu":
        return functional.elu(data, slope)
    if act_type == "selu":
        return functional.selu(data)
    if act_type == "gelu":
        return functional.gelu(data)
    raise MXNetError(f"LeakyReLU: act_type must be leaky, prelu, elu, selu or gelu, got {act_type!r}")


def _softmax_input(data: Tensor, temperature: float | None, name: str) -> Tensor:
    if not data.dtype.is_floating_point:
        raise MXNetError(f"{name}: data must be of a floating dtype, got {data.dtype}")
    return data if temperature in (None, 1.0) else data / temperature


@operator("softmax", inputs=2, needs=lambda attributes: ["data"])
def _softmax(
    data: Tensor,
    length: Tensor | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DtypeLike = None,
    use_length: bool = False,
) -> Tensor:
    data = _softmax_input(data, temperature, "softmax")
    if truth(use_length):
        if length is None:
            raise MXNetError("softmax: use_length=True needs length")
        inside = torch.arange(data.shape[axis], device=data.device) < length.unsqueeze(-1)
        inside = inside.movedim(-1, axis) if axis not in (-1, data.dim() - 1) else inside
        filled = data.masked_fill(~inside, -math.inf)
        data = torch.softmax(filled, axis).masked_fill(~inside, 0.0)
        return data if dtype is None else data.to(torch_dtype(dtype))
    return torch.softmax(data, axis, dtype=None if dtype is None else torch_dtype(dtype))


@operator("log_softmax", alike=True)
def _log_softmax(
    data: Tensor, axis: int = -1, temperature: float | None = None, dtype: DtypeLike = None, use_length: bool = False
) -> Tensor:
    data = _softmax_input(data, temperature, "log_softmax")
    return torch.log_softmax(data, axis, dtype=None if dtype is None else torch_dtype(dtype))


@operator("softmin", alike=True)
def _softmin(
    data: Tensor, axis: int = -1, temperature: float | None = None, dtype: DtypeLike = None, use_length: bool = False
) -> Tensor:
    data = _softmax_input(data, temperature, "softmin")
    return torch.softmax(-data, axis, dtype=None if dtype is None else torch_dtype(dtype))


@operator("SoftmaxActivation", alike=True)
def _softmax_activation(data: Tensor, mode: str = "instance") -> Tensor:
    if mode == "channel":
        return torch.softmax(data, 1)
    return torch.softmax(data.reshape(data.shape[0], -1), -1).reshape(data.shape)
