"""Activation functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...base.errors import paddles
from ...framework.dtype import single, torch_dtype
from ...tensor.inplace import in_place
from ...tensor.operation import need_float, operation, plain, row
from ...tensor.ops import sigmoid as sigmoid
from ...tensor.ops import tanh as tanh
from ...tensor.random import uniform_values
from . import softmaxes

__all__ = [
    "celu", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_sigmoid", "log_softmax", "maxout", "mish",
    "prelu", "relu", "relu6", "relu_", "rrelu", "selu", "sigmoid", "silu", "softmax", "softmax_", "softplus",
    "softshrink", "softsign", "swish", "tanh", "tanh_", "tanhshrink", "thresholded_relu", "thresholded_relu_",
]  # fmt: skip

# The functions that torch.nn.functional calls, without its Python code around them.
_nn = torch._C._nn


def _plain(name: str, compute: Callable[..., Any], what: str) -> Callable[..., Any]:
    def function(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
        need_float(x, function.__name__)
        return compute(x)

    return row(name, function, what)


# Paddle's kernel asks whether x > 0, so that the relu of NaN is 0 (recorded from 2.6.2 on a CPU).
relu = _plain("relu", lambda x: torch.where(torch.gt(x, 0), x, 0.0), "x where it is above 0, else 0.")
relu6 = _plain("relu6", lambda x: _nn.hardtanh(x, 0, 6), "x held between 0 and 6.")
silu = _plain("silu", _nn.silu, "x * sigmoid(x).")
swish = _plain("swish", _nn.silu, "x * sigmoid(x).")
mish = _plain("mish", _nn.mish, "x * tanh(softplus(x)).")
log_sigmoid = _plain("log_sigmoid", _nn.log_sigmoid, "log(sigmoid(x)).")
hardswish = _plain("hardswish", _nn.hardswish, "x * relu6(x + 3) / 6.")
softsign = _plain("softsign", lambda x: torch.div(x, torch.add(torch.abs(x), 1)), "x / (1 + |x|).")
tanhshrink = _plain("tanhshrink", lambda x: torch.sub(x, torch.tanh(x)), "x - tanh(x).")


@operation
def hardsigmoid(
    x: torch.Tensor, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None
) -> torch.Tensor:
    """slope * x + offset held between 0 and 1; the slope has Paddle's seven digits, torch's is 1 / 6."""
    need_float(x, "hardsigmoid")
    # The gradient at both ends is 0 (recorded, 2.6.2), as of `hardtanh`; `clamp` has 1.
    return _nn.hardtanh(torch.add(torch.mul(x, single(slope)), single(offset)), 0, 1)


@operation
def hardtanh(x: torch.Tensor, min: float = -1.0, max: float = 1.0, name: str | None = None) -> torch.Tensor:
    """x held between `min` and `max`."""
    need_float(x, "hardtanh")
    return _nn.hardtanh(x, single(min), single(max))


@operation
def leaky_relu(x: torch.Tensor, negative_slope: float = 0.01, name: str | None = None) -> torch.Tensor:
    """x, or negative_slope * x below 0."""
    need_float(x, "leaky_relu")
    # At 0 the gradient is 1 (recorded, 2.6.2), and in torch the slope.
    return torch.where(torch.lt(x, 0), torch.mul(x, single(negative_slope)), x)


@operation
def prelu(x: torch.Tensor, weight: torch.Tensor, data_format: str = "NCHW", name: str | None = None) -> torch.Tensor:
    """x, or weight * x below 0; the weight is one number or one per channel."""
    if weight.ndim != 1:
        raise AssertionError(f"The dim count of weight shape should be 1 in prelu(), got {weight.ndim}")
    factor = weight if x.ndim else torch.reshape(weight, [])
    if list(weight.shape) != [1]:
        shape = [1] * x.ndim
        shape[-1 if data_format in ("NLC", "NHWC", "NDHWC") else 1] = -1
        factor = torch.reshape(weight, shape)
    return torch.where(torch.gt(x, 0), x, torch.mul(x, factor))


@operation
def elu(x: torch.Tensor, alpha: float = 1.0, name: str | None = None) -> torch.Tensor:
    """x, or alpha * (exp(x) - 1) below 0."""
    need_float(x, "elu")
    return _nn.elu(x, single(alpha))


class _DoubleSelu(torch.autograd.Function):
    """selu of float64, with the gradient of Paddle 2.6.2 (recorded): alpha * scale is rounded to single precision there."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, alpha: float, scale: float) -> torch.Tensor:
        ctx.below, ctx.scale, out = single(alpha * scale), scale, _nn.elu(x, alpha, scale)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (out,) = ctx.saved_tensors
        return grad * torch.where(out > 0, ctx.scale, out + ctx.below), None, None


@operation
def selu(
    x: torch.Tensor, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, name: str | None = None
) -> torch.Tensor:
    """scale * elu(x, alpha)."""
    if scale <= 1.0:
        raise ValueError(f"The scale must be greater than 1.0. Received: {scale}.")
    if alpha < 0:
        raise ValueError(f"The alpha must be no less than zero. Received: {alpha}.")
    compute = _DoubleSelu.apply if x.dtype == torch.float64 else _nn.elu
    return compute(plain(x), single(alpha), single(scale))


@operation
def celu(x: torch.Tensor, alpha: float = 1.0, name: str | None = None) -> torch.Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    if alpha == 0:
        raise ZeroDivisionError("alpha cannot be 0 for celu")  # this class in Paddle 2.6.2, too (recorded)
    return torch.celu(x, single(alpha))


@operation
def gelu(x: torch.Tensor, approximate: bool = False, name: str | None = None) -> torch.Tensor:
    """x * the normal distribution function of x, or its approximation by tanh."""
    need_float(x, "gelu")
    return _nn.gelu(x, approximate="tanh" if approximate else "none")


@operation
def softplus(x: torch.Tensor, beta: float = 1, threshold: float = 20, name: str | None = None) -> torch.Tensor:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above `threshold`."""
    need_float(x, "softplus")
    return _nn.softplus(x, single(beta), single(threshold))


@operation
def softshrink(x: torch.Tensor, threshold: float = 0.5, name: str | None = None) -> torch.Tensor:
    """x moved towards 0 by `threshold`, 0 where it is nearer."""
    if threshold < 0:
        raise ValueError(f"The threshold must be no less than zero. Received: {threshold}.")
    return torch.add(_nn.softshrink(x, single(threshold)), 0.0)  # not -0, as torch has it


@operation
def hardshrink(x: torch.Tensor, threshold: float = 0.5, name: str | None = None) -> torch.Tensor:
    """x, 0 where |x| is at most `threshold`; by a product with 0 or 1, as in Paddle 2.6.2: -0.3 becomes -0 (recorded)."""
    edge = single(threshold)
    return torch.mul(x, torch.logical_or(torch.lt(x, -edge), torch.gt(x, edge)))


@operation
def thresholded_relu(x: torch.Tensor, threshold: float = 1.0, name: str | None = None) -> torch.Tensor:
    """x, 0 where it is at most `threshold`; by a product with 0 or 1, as in Paddle 2.6.2: -2 becomes -0 (recorded)."""
    return torch.mul(x, torch.gt(x, single(threshold)))


@operation
def rrelu(
    x: torch.Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = True, name: str | None = None
) -> torch.Tensor:
    """x, below 0 times a slope drawn evenly from `lower` to `upper`; times their mean unless `training`.

    Raises:
        TypeError: unless the bounds are floats.
        ValueError: if the bounds are not in order between 0 and 1.
    """
    if not isinstance(lower, float) or not isinstance(upper, float):
        raise paddles(
            TypeError(f"The lower and upper values must be float type. Received: lower {lower}, upper {upper}.")
        )
    if not 0 <= lower <= upper <= 1:
        raise ValueError(f"0 <= lower <= upper <= 1 must hold. Received: lower {lower}, upper {upper}.")
    need_float(x, "rrelu")
    slope, below = torch.full_like(x.detach(), single((single(lower) + single(upper)) / 2)), torch.lt(x, 0)
    if training:  # one draw for each number below 0
        drawn = uniform_values([int(below.sum())], lower, upper, torch_dtype(x.dtype))
        slope = torch.masked_scatter(slope, below, plain(drawn))
    return torch.where(below, torch.mul(x, slope), x)


@operation
def glu(x: torch.Tensor, axis: int = -1, name: str | None = None) -> torch.Tensor:
    """The first half along an axis times the sigmoid of the second."""
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"Expected value range of `axis` is [{-x.ndim}, {x.ndim}), but received axis: {axis}")
    if x.shape[axis] % 2:
        raise ValueError(f"(InvalidArgument) glu(): an axis of {x.shape[axis]} has no halves")
    need_float(x, "glu")
    return _nn.glu(x, axis)


@operation
def maxout(x: torch.Tensor, groups: int, axis: int = 1, name: str | None = None) -> torch.Tensor:
    """The largest of every `groups` channels.

    Raises:
        ValueError: unless `groups` is above 1.
    """
    if groups <= 1:
        raise ValueError(
            f"(InvalidArgument) Attr(groups) of Op(maxout) should be larger than 1. But received {groups}."
        )
    need_float(x, "maxout")
    if axis not in (-1, 1, 3):
        raise ValueError(f"(InvalidArgument) maxout(): axis must be 1, -1 or 3, got {axis}")
    if x.ndim < 2:
        raise ValueError(f"(InvalidArgument) maxout(): x must have the axes [N, C, H, W], got shape {list(x.shape)}")
    axis = axis % x.ndim
    # Of equal ones the first gets the gradient (recorded, 2.6.2).
    return torch.max(torch.unflatten(x, axis, [-1, groups]), dim=axis + 1).values


def _cast(x: torch.Tensor, dtype: Any) -> torch.Tensor:
    if dtype is None:
        return x
    try:
        return torch.Tensor.to(x, torch_dtype(dtype))
    except TypeError as error:  # Paddle's error for a type of NumPy's that it has not, such as uint32 (recorded, 2.6.2)
        if isinstance(dtype, str) and dtype not in np.sctypeDict:
            raise paddles(error) from None  # NumPy's own there
        raise ValueError(f"Not supported numpy dtype {dtype}") from error


@operation
def softmax(x: torch.Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> torch.Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    x = _cast(x, dtype)
    need_float(x, "softmax")
    return softmaxes.softmax(x, axis)


@operation
def log_softmax(x: torch.Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> torch.Tensor:
    """log(softmax(x)) along an axis."""
    x = _cast(x, dtype)
    need_float(x, "log_softmax")
    return softmaxes.log_softmax(x, axis)


@operation
def gumbel_softmax(
    x: torch.Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None
) -> torch.Tensor:
    """A sample from the categories with logits x; `hard` gives ones and zeros with the gradient of the soft sample."""
    need_float(x, "gumbel_softmax")
    # From 1e-5 on, as in Paddle 2.6.2 (recorded): 0 would make a noise of -inf.
    draws = plain(uniform_values(list(x.shape), 1e-5, 1.0, torch_dtype(x.dtype)))
    noise = -torch.log(-torch.log(draws))
    soft = softmaxes.softmax(torch.add(x, noise) / single(temperature), axis)
    if not hard:
        return soft
    chosen = torch.zeros_like(soft).scatter_(axis, soft.argmax(axis, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


relu_, tanh_, softmax_ = in_place(relu, "relu_"), in_place(tanh, "tanh_"), in_place(softmax, "softmax_")
elu_, leaky_relu_ = in_place(elu, "elu_"), in_place(leaky_relu, "leaky_relu_")
hardtanh_, thresholded_relu_ = in_place(hardtanh, "hardtanh_"), in_place(thresholded_relu, "thresholded_relu_")
