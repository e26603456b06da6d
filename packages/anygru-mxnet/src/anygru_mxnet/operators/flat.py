"""Results that are constants in torch, but part of the graph in MXNet: they have gradients of zero."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


class _Flat(torch.autograd.Function):
    """Values in the graph of some tensors, with a derivative of zero."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        # A copy: torch would return a view of the input, and MXNet's results do not share memory.
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *(torch.zeros_like(tensor) for tensor in ctx.saved_tensors))


def flat(values: Tensor, *tensors: Any) -> Tensor:
    """Put constant values into the graph of the tensors that they were computed from."""
    if not torch.is_grad_enabled() or not values.dtype.is_floating_point:
        return values
    tracked = [t for t in tensors if isinstance(t, Tensor) and t.requires_grad]
    return _Flat.apply(values, *tracked) if tracked else values


def unchanging(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Give results of an operator that have no gradient a gradient of zero."""

    @functools.wraps(compute)
    def in_graph(*inputs: Any, **attributes: Mapping[str, Any]) -> Any:
        result = compute(*inputs, **attributes)
        if isinstance(result, tuple):
            return tuple(part if part.requires_grad else flat(part, *inputs) for part in result)
        return result if result.requires_grad else flat(result, *inputs)

    return in_graph
