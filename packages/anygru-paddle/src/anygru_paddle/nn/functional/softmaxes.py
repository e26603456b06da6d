"""Softmax and its logarithm with the floor of Paddle's CPU kernels: scores more than 64 below the largest count as 64 below.

So no probability is 0 and no logarithm is -inf: a loss is at most about 64, and `p * log(p)` of a masked score is a number
(recorded, 2.6.2).
"""

import math
from typing import Any

import torch

from ...framework.recording import recording
from ...tensor.operation import plain

_DEPTH = 64.0


def softmax(x: torch.Tensor, axis: int) -> torch.Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    out = torch.softmax(plain(x), axis)
    return _Softmax.apply(plain(x), axis) if _is_below(out, math.exp(-_DEPTH)) else out


def log_softmax(x: torch.Tensor, axis: int) -> torch.Tensor:
    """log(softmax(x)) along an axis."""
    out = torch.log_softmax(plain(x), axis)
    return _LogSoftmax.apply(plain(x), axis) if _is_below(out, -_DEPTH) else out


def _is_below(out: torch.Tensor, floor: float) -> bool:
    """Whether a result is so small that the floor may have been passed; with the floor it is never smaller."""
    if recording.is_on:
        return out.is_cpu
    return out.is_cpu and out.numel() > 0 and torch.amin(out.detach()).item() < floor


def _raised(x: torch.Tensor, axis: int) -> torch.Tensor:
    """Scores less their largest one, none below the floor."""
    return torch.clamp(x - torch.amax(x, axis, keepdim=True), min=-_DEPTH)


class _Softmax(torch.autograd.Function):
    """With the floor; gradients pass it, as in Paddle 2.6.2 on a CPU (recorded)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axis: int) -> torch.Tensor:
        ctx.axis, out = axis, torch.softmax(_raised(x, axis), axis)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (out,) = ctx.saved_tensors
        return out * (grad - torch.sum(grad * out, ctx.axis, keepdim=True)), None


class _LogSoftmax(_Softmax):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axis: int) -> torch.Tensor:
        ctx.axis, out = axis, torch.log_softmax(_raised(x, axis), axis)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (out,) = ctx.saved_tensors
        return grad - torch.exp(out) * torch.sum(grad, ctx.axis, keepdim=True), None
