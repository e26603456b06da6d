"""Activation functions."""

from typing import Any

import numpy
import torch

from ..backends._tensors import as_array, as_tensor
from ..types import NdArray, VariableLike
from ..utils import type_check
from ..variable import Variable
from ._rows import Tensor, Type, as_runtime_error, elementwise, expect, function, int_axis, one_dtype, real
from .arrays import reshape
from .reductions import max as max_along

__all__ = [
    "clipped_relu", "crelu", "elu", "hard_sigmoid", "leaky_relu", "log_softmax", "maxout", "prelu", "relu", "relu6", "selu",
    "sigmoid", "softmax", "softplus", "swish", "tanh",
]  # fmt: skip


def _hard_sigmoid(x: Tensor) -> Tensor:
    y = 0.2 * x + 0.5
    # Chainer's slope is 0.2 strictly between the bounds and 0 on them (7.8.1, HardSigmoid, recorded).
    return torch.where((y > 0) & (y < 1), y, y.detach().clamp(0, 1))


ReLU, relu = elementwise(
    "ReLU", torch.relu, "`max(0, x)`, elementwise.", gradient_inputs=(), by_numpy=lambda node, x: numpy.maximum(x, 0)
)
Sigmoid, sigmoid = elementwise("Sigmoid", torch.sigmoid, "`1 / (1 + exp(-x))`, elementwise.")
Tanh, tanh = elementwise("Tanh", torch.tanh, "Hyperbolic tangent, elementwise.")
HardSigmoid, hard_sigmoid = elementwise("HardSigmoid", _hard_sigmoid, "`0.2 * x + 0.5`, held between 0 and 1.")


def _cap(z: float) -> tuple[float]:
    if not isinstance(z, float):
        # An int is also refused (Chainer 7.8.1, seen).
        raise TypeError(f"z must be float value, got {z!r}")
    if z <= 0:
        raise AssertionError(f"z must be positive, got {z}")
    return (z,)


@function("ClippedReLU", real, prepare=_cap)
def clipped_relu(x: Tensor, z: float = 20.0) -> Tensor:
    """`min(max(0, x), z)`, elementwise."""
    # The slope is 1 strictly between the bounds and 0 on them (Chainer 7.8.1, ClippedReLU, recorded).
    return torch.where((x > 0) & (x < z), x, x.detach().clamp(0, z))


def relu6(x: VariableLike) -> Variable:
    """`min(max(0, x), 6)`, elementwise."""
    return clipped_relu(x, 6.0)


def _axis_in_array(node: Any, x: Type) -> None:
    expect(x.ndim > node.axis, -x.ndim <= node.axis)


@function("CReLU", real, _axis_in_array, prepare=int_axis, gradient_inputs=())
def crelu(x: Tensor, axis: int = 1) -> Tensor:
    """`relu(x)` and `relu(-x)`, concatenated along an axis."""
    return torch.cat((torch.relu(x), torch.relu(-x)), axis)


@function("ELU", real)
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere (Clevert et al., 2015)."""
    return torch.nn.functional.elu(x, float(alpha))


def selu(x: VariableLike, alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805) -> Variable:
    """`scale * elu(x, alpha)` (Klambauer et al., 2017)."""
    return scale * elu(x, alpha)


@function("LeakyReLU", real)
def leaky_relu(x: Tensor, slope: float = 0.2) -> Tensor:
    """`x` where it is positive, `slope * x` elsewhere."""
    return torch.where(x > 0, x, slope * x)


@function("Softplus", real)
def softplus(x: Tensor, beta: float = 1.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, elementwise."""
    # torch's softplus is x itself above a threshold of 20; Chainer 7.8.1 computes the formula everywhere (`softplus.py`,
    # read).
    scaled = float(beta) * x
    return torch.logaddexp(scaled, torch.zeros_like(scaled)) / float(beta)


def _along_axis(node: Any, x: Type) -> None:
    with as_runtime_error():
        axis = type_check.make_variable(node.axis, "axis")
        expect(x.dtype.kind == "f", -x.ndim <= axis, axis < x.ndim)


@function("Softmax", _along_axis)
def softmax(x: Tensor, axis: int = 1) -> Tensor:
    """`exp(x) / sum(exp(x))` along an axis."""
    return torch.softmax(x, axis)


@function("LogSoftmax", _along_axis)
def log_softmax(x: Tensor, axis: int = 1) -> Tensor:
    """`x - log(sum(exp(x)))` along an axis."""
    return torch.log_softmax(x, axis)


def _log_softmax(x: NdArray, axis: int = 1) -> NdArray:
    """`log_softmax` of an array, as an array; public programs use it."""
    return as_array(torch.log_softmax(as_tensor(x), axis))


def maxout(x: VariableLike, pool_size: int, axis: int = 1) -> Variable:
    """The largest of each `pool_size` neighbours along an axis.

    Raises:
        ValueError: `pool_size` is not positive.
        InvalidType: the axis cannot be divided by `pool_size`.
    """
    if pool_size <= 0:
        raise ValueError("pool_size must be a positive integer.")
    if x.shape[axis] % pool_size:
        raise type_check.InvalidType(
            "x.shape[axis] % pool_size == 0",
            f"x.shape[axis]={x.shape[axis]}, pool_size={pool_size}",
            "axis dimension must be divided by pool_size",
        )
    pooled = (*x.shape[:axis], x.shape[axis] // pool_size, pool_size, *x.shape[axis + 1 :])
    return max_along(reshape(x, pooled), axis=axis + 1)


def _leading(w: Tensor, x: Tensor) -> Tensor:
    """`w`, with the shape of some axes of x behind the batch axis, in a shape that broadcasts to x."""
    return w.reshape((1, *w.shape) + (1,) * (x.ndim - w.ndim - 1))


def _slopes(node: object, x: Type, w: Type) -> None:
    expect(x.ndim >= w.ndim + 1, x.shape[1 : 1 + type_check.eval(w.ndim)] == w.shape)


@function("PReLUFunction", real, one_dtype, _slopes)
def prelu(x: Tensor, W: Tensor) -> Tensor:
    """`x` where it is positive, `W * x` elsewhere; `W` has the shape of some leading axes without the batch axis."""
    # At 0 the slope is 1 (Chainer 7.8.1, seen); torch's prelu has W there.
    return torch.where(x >= 0, x, _leading(W, x) * x)


@function("Swish", real, one_dtype, _slopes)
def swish(x: Tensor, beta: Tensor) -> Tensor:
    """`x * sigmoid(beta * x)`; `beta` has the shape of some leading axes of `x` without the batch axis."""
    return x * torch.sigmoid(_leading(beta, x) * x)
