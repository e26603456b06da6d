"""Arithmetic of two tensors; sums, products and extremes along axes are in `reduction`."""

import math
from typing import Any

import torch

from anygru.extend import not_covered

from ..base.errors import EnforceNotMet, divided_by_zero, paddles
from ..framework.dtype import single, torch_dtype
from ..framework.kinds import Operand
from .operation import NUMBERS, as_sizes, need_float, need_same_dtype, no_small, operation, promoted, row
from .pairs import *  # noqa: F403
from .reduction import *  # noqa: F403

__all__ = [
    "add", "add_n", "addmm", "broadcast_shape", "clip", "diagonal", "diff", "divide", "increment", "inner", "inverse",
    "kron", "ldexp", "lerp", "logit", "mm", "multiplex", "multiply", "nan_to_num", "outer", "pow", "renorm", "scale",
    "stanh", "subtract", "take", "trace",
]  # fmt: skip


_COMPLEX = (torch.complex64, torch.complex128)
# The dtypes of Paddle 2.6.2's kernels for these operations, as `operation.NUMBERS` (recorded).
_ALL = (torch.bool, torch.uint8, torch.int8, torch.int16, *NUMBERS, *_COMPLEX)
_SUMMED = (torch.int16, *NUMBERS, *_COMPLEX)
_MULTIPLIED = (torch.bool, torch.bfloat16, *NUMBERS, *_COMPLEX)


@operation
def add(x: torch.Tensor, y: Any, name: str | None = None, *, alpha: Any = 1) -> torch.Tensor:
    """x + y."""
    x, y = promoted(x, y, "add", _SUMMED)
    no_small(x, "add", (torch.int16,))
    return torch.add(x, y, alpha=alpha)  # torch's optimizers pass alpha to the method, Paddle has no such argument


@operation
def subtract(x: torch.Tensor, y: Any, name: str | None = None) -> torch.Tensor:
    """x - y."""
    x, y = promoted(x, y, "subtract", _SUMMED)
    no_small(x, "subtract", (torch.int16,))
    return torch.sub(x, y)


@operation
def multiply(x: torch.Tensor, y: Any, name: str | None = None) -> torch.Tensor:
    """x * y."""
    x, y = promoted(x, y, "multiply", _MULTIPLIED)
    no_small(x, "multiply", (torch.bool,))
    return torch.mul(x, y)


@operation
def divide(x: torch.Tensor, y: Any, name: str | None = None) -> torch.Tensor:
    """x / y; for two integer tensors the integer part of it."""
    if isinstance(y, torch.Tensor) and x.is_complex() != y.is_complex():
        x, y = promoted(x, y, "divide", _ALL)
    need_same_dtype(x, y, "divide", _ALL)
    if x.is_floating_point() or x.is_complex():
        return torch.div(x, y)
    if bool(torch.any(torch.eq(y, 0))):
        raise divided_by_zero()
    if x.dtype == torch.bool:  # a quotient by True
        return torch.clone(x)
    return torch.div(x, y, rounding_mode="trunc")  # integers stay integers, and -7 / 2 is -3 (recorded, 2.6.2)


@operation
def pow(x: torch.Tensor, y: Operand, name: str | None = None) -> torch.Tensor:
    """x to the power y, a number or a tensor of the same dtype."""
    if not isinstance(y, torch.Tensor) or y.dtype == x.dtype:
        no_small(x, "pow")
    if isinstance(y, torch.Tensor):
        need_same_dtype(x, y, "pow", (torch.bfloat16, *NUMBERS))
        return torch.pow(x, y)
    if not isinstance(y, (int, float)):
        raise paddles(TypeError(f"y must be scalar or tensor type, but received: {type(y)} "))
    # An exponent of integers is cut to one: 3 to the power 0.5 is 1 (recorded, 2.6.2).
    exponent = single(y) if x.is_floating_point() else y if x.is_complex() else int(y)
    return torch.Tensor.to(torch.pow(x, exponent), torch_dtype(x.dtype))


@operation
def add_n(inputs: Any, name: str | None = None) -> torch.Tensor:
    """The sum of a list of tensors."""
    if isinstance(inputs, torch.Tensor):
        return torch.clone(inputs)
    total = torch.clone(inputs[0])
    for each in inputs[1:]:
        need_same_dtype(total, each, "add_n", (*NUMBERS, *_COMPLEX), by="x")
        if list(total.shape) != list(each.shape):
            raise ValueError(f"(InvalidArgument) add_n(): shapes differ, {list(total.shape)} and {list(each.shape)}")
        total = torch.add(total, each)
    return total


@operation
def addmm(
    input: torch.Tensor,
    x: torch.Tensor,
    y: torch.Tensor,
    beta: float = 1.0,
    alpha: float = 1.0,
    name: str | None = None,
) -> torch.Tensor:
    """beta * input + alpha * x @ y."""
    # Paddle's attributes of an operator are float32, for float64 tensors as well: beta=0.1 adds 1.5e-9 (recorded, 2.6.2).
    return torch.addmm(input, x, y, beta=single(beta), alpha=single(alpha))


@operation
def mm(input: torch.Tensor, mat2: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The matrix product."""
    return torch.matmul(*promoted(input, mat2, "mm", (*NUMBERS, *_COMPLEX)))


@operation
def inner(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The inner product over the last axis; the plain product where one of them has one element (recorded, 2.6.2)."""
    x, y = promoted(x, y, "inner", (*NUMBERS, *_COMPLEX))
    return torch.mul(x, y) if 1 in (torch.Tensor.numel(x), torch.Tensor.numel(y)) else torch.inner(x, y)


@operation
def outer(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The outer product of the flattened tensors."""
    return torch.outer(torch.flatten(x), torch.flatten(y))


kron = row("kron", lambda x, y, name=None: torch.kron(x, y), "The Kronecker product.")


@operation
def lerp(x: torch.Tensor, y: torch.Tensor, weight: Any, name: str | None = None) -> torch.Tensor:
    """x + weight * (y - x), of float32 or float64."""
    need_float(weight if isinstance(weight, torch.Tensor) else x, "lerp")
    need_same_dtype(x, y, "lerp")
    return torch.lerp(x, y, weight)


@operation
def scale(
    x: torch.Tensor,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> torch.Tensor:
    """scale * x + bias, or scale * (x + bias)."""
    if act is not None:
        raise not_covered(f"paddle.scale(act={act!r})", "the activation on the result")
    # Of float64 the bias is also rounded: 0.1 * 1 + 0.1 is 0.20000000149 (recorded, 2.6.2).
    bias = single(bias)
    if not x.is_floating_point():  # in the tensor's own type, which cuts both off
        scale, bias = scale if isinstance(scale, torch.Tensor) else int(scale), int(bias)
    out = torch.add(torch.mul(x, scale), bias) if bias_after_scale else torch.mul(torch.add(x, bias), scale)
    return torch.Tensor.to(out, torch_dtype(x.dtype))


@operation
def stanh(x: torch.Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> torch.Tensor:
    """scale_b * tanh(scale_a * x)."""
    return torch.mul(torch.tanh(torch.mul(x, single(scale_a))), single(scale_b))


@operation
def clip(x: torch.Tensor, min: Any = None, max: Any = None, name: str | None = None) -> torch.Tensor:
    """x held between `min` and `max`."""
    low, high = (each.item() if isinstance(each, torch.Tensor) else each for each in (min, max))
    if low is None and high is None:
        return torch.clone(x)
    if low is not None and high is not None and low > high:
        raise ValueError(f"(InvalidArgument) clip(): min must not be above max, got {low} and {high}")
    if not x.is_floating_point():
        return torch.Tensor.to(torch.clamp(x, low, high), torch_dtype(x.dtype))
    # hardtanh, not clamp: in Paddle a value on a bound gets no gradient (recorded, 2.6.2).
    return torch._C._nn.hardtanh(x, -math.inf if low is None else low, math.inf if high is None else high)


nan_to_num = row(
    "nan_to_num",
    lambda x, nan=0.0, posinf=None, neginf=None, name=None: torch.nan_to_num(x, nan, posinf, neginf),
    "x with nan and infinities replaced.",
)


@operation
def logit(x: torch.Tensor, eps: float | None = None, name: str | None = None) -> torch.Tensor:
    """log(x / (1 - x)), x held between eps and 1 - eps."""
    return torch.logit(x, None if eps is None else single(eps))


@operation
def increment(x: torch.Tensor, value: float = 1.0, name: str | None = None) -> torch.Tensor:
    """Add `value` to the single element of `x`, in place."""
    if torch.Tensor.numel(x) != 1:
        raise ValueError(f"(InvalidArgument) increment(): x must have one element, got shape {list(x.shape)}")
    # No step of the graph in 2.6.2, so that the gradient passes, and a leaf may be incremented (recorded).
    with torch.no_grad():
        torch.Tensor.add_(x, single(value) if x.is_floating_point() else int(value))
    return x


diff = row(
    "diff",
    lambda x, n=1, axis=-1, prepend=None, append=None, name=None: torch.diff(x, n, axis, prepend, append),
    "Differences of neighbours along an axis.",
)


@operation
def trace(x: torch.Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> torch.Tensor:
    """The sum of the diagonal."""
    return torch.sum(torch.diagonal(x, offset, axis1, axis2), dim=-1)  # torch.trace takes matrices alone


@operation
def diagonal(x: torch.Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> torch.Tensor:
    """The diagonal over two axes."""
    if x.ndim < 2:
        raise paddles(IndexError(f"(OutOfRange) diagonal(): x must have two axes or more, got shape {list(x.shape)}"))
    return torch.diagonal(x, offset, axis1, axis2)


inverse = row("inverse", lambda x, name=None: torch.linalg.inv(x), "The inverse matrix.")


@operation
def renorm(x: torch.Tensor, p: float, axis: int, max_norm: float) -> torch.Tensor:
    """Slices along `axis` with a p-norm above `max_norm` scaled down to it."""
    axes = [each for each in range(x.ndim) if each != axis % x.ndim]
    p, most = single(p), single(max_norm)
    size = torch.linalg.vector_norm(x, p, axes, keepdim=True)
    # torch.renorm adds 1e-7 to the norm, Paddle 2.6.2 nothing (recorded).
    scale = torch.div(most, torch.clamp(size, min=most))  # clamped, since a length of 0 makes the gradient nan
    return torch.mul(x, torch.where(torch.gt(size, most), scale, 1.0))


@operation
def take(x: torch.Tensor, index: torch.Tensor, mode: str = "raise", name: str | None = None) -> torch.Tensor:
    """Elements of the flattened tensor; positions out of range raise, wrap round or are held at the ends."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"'mode' in 'take' should be 'raise', 'wrap', 'clip', but received {mode}.")
    count = torch.Tensor.numel(x)
    flat, index = torch.flatten(x), torch.Tensor.to(index, torch.int64)
    if not count and torch.Tensor.numel(index):
        kind = EnforceNotMet if mode == "wrap" and not x.shape[0] else ValueError  # (recorded, 2.6.2)
        raise kind("(InvalidArgument) take(): nothing to take from a tensor without elements")
    if mode == "wrap":
        index = torch.remainder(index, count)
    elif mode == "clip":
        index = torch.clamp(index, 0, count - 1)
    else:
        if bool(torch.any((index < -count) | (index >= count))):
            raise ValueError(f"(InvalidArgument) take(): index out of range for {count} elements")
        index = torch.where(torch.lt(index, 0), torch.add(index, count), index)
    return torch.take(flat, index)


def broadcast_shape(x_shape: Any, y_shape: Any) -> list[int]:
    """The shape to which two shapes broadcast."""
    try:
        return list(torch.broadcast_shapes(as_sizes(x_shape), as_sizes(y_shape)))
    except RuntimeError as error:
        raise ValueError(
            f"(InvalidArgument) broadcast_shape(): {list(x_shape)} and {list(y_shape)} do not fit"
        ) from error


@operation
def multiplex(inputs: Any, index: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Row i of tensor number index[i]."""
    stacked = torch.stack(list(inputs))
    rows = torch.Tensor.to(torch.flatten(index), torch.int64)
    return stacked[rows, torch.arange(len(rows))]


@operation
def ldexp(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """x * 2 ** y, in floating point."""
    x, y = (
        each if each.dtype in (torch.float32, torch.float64) else torch.Tensor.to(each, torch.float32)
        for each in (x, y)
    )
    return torch.mul(*promoted(x, torch.pow(2.0, y), "ldexp", NUMBERS))
