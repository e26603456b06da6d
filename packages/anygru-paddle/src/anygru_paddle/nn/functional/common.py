"""linear, dropout, pad and other functions of everyday layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...base.errors import paddles
from ...framework.dtype import single
from ...framework.random import default_generator, use_exact
from ...tensor.linalg import p_norm
from ...tensor.operation import as_sizes, need_float, need_same_dtype, need_tensor, operation, plain, product

__all__ = [
    "alpha_dropout", "bilinear", "cosine_similarity", "dropout", "dropout2d", "dropout3d", "label_smooth",
    "linear", "normalize", "pad", "pairwise_distance",
    "zeropad2d",
]  # fmt: skip


@operation
def linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, name: str | None = None
) -> torch.Tensor:
    """x @ weight + bias, the weight [in, out]."""
    need_same_dtype(x, weight, "linear")
    out = product(x, weight)
    return out if bias is None else torch.add(out, bias)


def draw_kept(shape: list[int], p: float, like: torch.Tensor) -> torch.Tensor:
    """False with probability p, True otherwise: Paddle's own draws where they are few, torch's where they are many."""
    count = 1
    for length in shape:
        count *= length
    if use_exact(count):
        return torch.from_numpy(default_generator.canonical(count) >= p).reshape(shape).to(like.device)
    return torch.rand(shape, device=like.device) >= p


@operation
def dropout(
    x: torch.Tensor,
    p: Any = 0.5,
    axis: Any = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> torch.Tensor:
    """Replace each element by zero with probability p.

    Args:
        x: the tensor.
        p: the probability, from 0 to 1.
        axis: axes along which the draws differ; along the others the same elements go.
        training: False computes as in evaluation.
        mode: 'upscale_in_train' multiplies the remaining elements by 1 / (1 - p) in training; 'downscale_in_infer'
        multiplies all by
            1 - p in evaluation.

    Raises:
        TypeError: unless p is a number.
        ValueError: if p is not from 0 to 1 or `mode` is unknown.
    """
    if isinstance(p, torch.Tensor):
        p = p.item()
    if not isinstance(p, (int, float)):
        raise paddles(TypeError("p argument should be a number or Variable"))
    if not 0 <= p <= 1:
        raise ValueError("p argument should between 0 and 1")
    if mode not in ("downscale_in_infer", "upscale_in_train"):
        raise ValueError("mode argument should be 'downscale_in_infer' or 'upscale_in_train'")
    need_tensor(x, "x", "dropout")
    upscale = mode == "upscale_in_train"
    if p == 0:
        return x
    if not training:
        # The tensor itself for p = 0 and with axes, a copy without them: two ways through Paddle 2.6.2's code (recorded).
        return (x if axis is not None else torch.clone(x)) if upscale else torch.mul(x, single(1 - p))
    if p == 1:
        return torch.mul(x, 0.0)
    shape = list(x.shape)
    if axis is not None:
        axes = [axis] if isinstance(axis, int) else list(axis)
        if any(not -x.ndim <= each < x.ndim for each in axes) or len(axes) > x.ndim:
            raise ValueError(f"dropout: axis must name axes of a tensor with {x.ndim}, got {axis}")
        shape = [length if index in [each % x.ndim for each in axes] else 1 for index, length in enumerate(shape)]
    # Chosen and not multiplied: an infinite value that is dropped is 0 (recorded, 2.6.2), and nan in torch.
    out = torch.where(draw_kept(shape, p, x), x, torch.zeros([], device=x.device, dtype=torch.Tensor.dtype.__get__(x)))  # type: ignore[attr-defined]
    # Without axes Paddle has a kernel, with them it multiplies by a number.
    scale = 1 / (1 - p if axis is not None else single(1 - single(p)))
    if not x.is_floating_point():
        scale = int(scale)  # a number of the dtype of x (recorded, 2.6.2)
    return torch.mul(out, scale) if upscale else out


def dropout2d(
    x: torch.Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: Any = None
) -> torch.Tensor:
    """Whole channels of images dropped."""
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"Attr(data_format) should be 'NCHW' or 'NHWC'. Received Attr(data_format): {data_format}.")
    return dropout(x, p, [0, 1] if data_format == "NCHW" else [0, 3], training)


def dropout3d(
    x: torch.Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: Any = None
) -> torch.Tensor:
    """Whole channels of volumes dropped."""
    if data_format not in ("NCDHW", "NDHWC"):
        raise ValueError(f"Attr(data_format) should be 'NCDHW' or 'NDHWC'. Received Attr(data_format): {data_format}.")
    return dropout(x, p, [0, 1] if data_format == "NCDHW" else [0, 4], training)


_DROPPED_BY_ALPHA = -1.6732632423543772 * 1.0507009873554805  # selu far below 0


@operation
def alpha_dropout(x: torch.Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> torch.Tensor:
    """Dropout that keeps mean and variance after selu.

    Raises:
        TypeError: unless the probability is a number.
        ValueError: unless it is from 0 to 1.
    """
    if not isinstance(p, (float, int)):
        raise paddles(TypeError("p argument should be a float or int"))
    if not 0 <= p <= 1:
        raise ValueError("p argument should between 0 and 1")
    if not training:
        return x
    if p == 0:
        return torch.clone(x)
    if p == 1:
        return torch.mul(x, 0)
    scale = ((1 - p) * (1 + p * _DROPPED_BY_ALPHA**2)) ** -0.5
    out = torch.where(draw_kept(list(x.shape), p, x), x, torch.full_like(x, _DROPPED_BY_ALPHA))
    shift = -scale * _DROPPED_BY_ALPHA * p
    if not x.is_floating_point():
        scale, shift = int(scale), int(shift)  # numbers of the dtype of x (recorded, 2.6.2)
    return torch.add(torch.mul(out, scale), shift)


@operation
def pad(
    x: torch.Tensor,
    pad: Any,
    mode: str = "constant",
    value: float | np.ndarray | torch.Tensor = 0.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> torch.Tensor:
    """`x` with elements added at the ends of axes.

    Args:
        x: the tensor.
        pad: two lengths an axis. For all axes they begin with the first axis; for fewer, with the last of the axes that
            `data_format` calls L, W, H, D.
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: the value that 'constant' adds; it may be an array or tensor of one element.
        data_format: which axis holds the channels.
    """
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise AssertionError(f"mode should be one of constant, reflect, replicate, circular, but got {mode}.")
    widths = as_sizes(pad)
    value = float(value.item() if isinstance(value, (torch.Tensor, np.ndarray)) else value)
    if mode == "constant" and len(widths) == 2 * x.ndim:
        # torch begins with the last axis.
        pairs = [widths[place : place + 2] for place in range(0, len(widths), 2)][::-1]
        # Padding of all axes has a separate kernel in 2.6.2, which does not round the value to float32 (recorded).
        return torch.constant_pad_nd(x, [width for pair in pairs for width in pair], value)
    if x.ndim not in (3, 4, 5):
        raise AssertionError(f"input tesor dimension must be in [3, 4, 5] but got {x.ndim}")
    formats = {3: ["NCL", "NLC"], 4: ["NCHW", "NHWC"], 5: ["NCDHW", "NDHWC"]}[x.ndim]
    if data_format not in formats:
        raise AssertionError(
            f"input tensor dimension is {x.ndim}, it's data format should be in {formats} but got {data_format}"
        )
    if mode != "constant" and len(widths) != 2 * (x.ndim - 2):
        raise ValueError(f"(InvalidArgument) pad(): {mode!r} needs {2 * (x.ndim - 2)} lengths, got {widths}")
    channels_last = data_format in ("NLC", "NHWC", "NDHWC")
    inner = torch.movedim(x, -1, 1) if channels_last else x
    if mode == "circular":
        out = plain(inner)
        # torch wraps around at most once, Paddle any number of times (recorded, 2.6.2)
        for place, axis in enumerate(range(x.ndim - 1, 1, -1)):
            length, (before, after) = out.shape[axis], widths[2 * place : 2 * place + 2]
            out = out.index_select(axis, torch.arange(-before, length + after, device=out.device) % length)
    else:
        out = torch.nn.functional.pad(plain(inner), widths, mode, single(value) if mode == "constant" else None)
    return torch.movedim(out, 1, -1) if channels_last else out


def zeropad2d(
    x: torch.Tensor, padding: int | Sequence[int], data_format: str = "NCHW", name: str | None = None
) -> torch.Tensor:
    """Zeros at the edges of images: left, right, top, bottom."""
    return pad(x, [padding] * 4 if isinstance(padding, int) else padding, "constant", 0.0, data_format)


@operation
def cosine_similarity(x1: torch.Tensor, x2: torch.Tensor, axis: int = 1, eps: float = 1e-8) -> torch.Tensor:
    """The cosine of the angle between vectors along an axis."""
    dot = torch.sum(torch.mul(x1, x2), dim=axis)
    squares = torch.mul(torch.sum(torch.mul(x1, x1), dim=axis), torch.sum(torch.mul(x2, x2), dim=axis))
    # One root of both sums of squares, as in Paddle 2.6.2 (read), where torch divides by each length.
    return torch.div(dot, torch.sqrt(torch.clamp(squares, min=eps * eps)))


@operation
def normalize(
    x: torch.Tensor, p: float = 2, axis: int = 1, epsilon: float = 1e-12, name: str | None = None
) -> torch.Tensor:
    """`x` divided by its p-norm along an axis.

    Raises:
        ValueError: for a tensor without elements.
    """
    if 0 in list(x.shape):
        raise ValueError(f"(InvalidArgument) normalize(): all lengths of x must be above 0, got {list(x.shape)}")
    need_float(x, "normalize")
    return torch.div(x, torch.clamp(p_norm(x, float(p), axis, True), min=epsilon))


@operation
def pairwise_distance(
    x: torch.Tensor,
    y: torch.Tensor,
    p: float = 2.0,
    epsilon: float = 1e-6,
    keepdim: bool = False,
    name: str | None = None,
) -> torch.Tensor:
    """The p-norm of x - y + epsilon along the last axis."""
    difference = torch.sub(plain(x), plain(y))
    if epsilon:
        difference = torch.add(difference, epsilon)
    size = torch.abs(difference)
    if p == 0:
        out = torch.count_nonzero(difference, -1).unsqueeze(-1) + torch.mul(size, 0.0).sum(-1, True)  # of gradient 0
        return out if keepdim else out.squeeze(-1)
    if abs(p) == float("inf"):
        # Paddle's gradient is whole for each of several equal elements; torch shares it out (recorded from 2.6.2).
        extreme = torch.amax if p > 0 else torch.amin
        top = extreme(size.detach(), -1, True)
        chosen = torch.eq(size, top)
        spare = torch.mul(torch.sub(chosen.sum(-1, True), 1), top)
        out = torch.sub(torch.where(chosen, size, 0.0).sum(-1, True), spare)
        return out if keepdim else out.squeeze(-1)
    return p_norm(difference, float(p), -1, keepdim)


@operation
def label_smooth(
    label: torch.Tensor, prior_dist: Any = None, epsilon: float = 0.1, name: str | None = None
) -> torch.Tensor:
    """(1 - epsilon) * label + epsilon * the prior distribution (default: uniform)."""
    if not 0 <= epsilon <= 1:
        raise ValueError("The value of epsilon must be between 0 and 1.")
    need_float(label, "label_smooth")
    if not label.numel():
        raise ValueError("(InvalidArgument) label_smooth(): a label without elements cannot be smoothed")
    # A number alone gets no share (recorded, 2.6.2).
    even = single(single(epsilon) / int(label.shape[-1])) if label.ndim else 0.0
    prior = even if prior_dist is None else torch.mul(prior_dist.detach(), single(epsilon))
    return torch.add(torch.mul(label, single(1 - epsilon)), prior)


@operation
def bilinear(
    x1: torch.Tensor, x2: torch.Tensor, weight: torch.Tensor, bias: Any = None, name: Any = None
) -> torch.Tensor:
    """x1 [B, I] @ weight[k] [I, J] @ x2 [B, J] for every k, plus bias [1, K]: [B, K]."""
    out = torch.einsum("bi,kij,bj->bk", x1, weight, x2)
    return out if bias is None else torch.add(out, bias)
