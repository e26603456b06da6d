"""NVIDIA's cuDNN through torch, for reset="after" on CUDA; unlike in torch, its gradient can be differentiated again."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..facts.problem import Call, Problem
from . import aten, grouped, one_buffer, reference


def refuse(problem: Problem) -> str | None:
    if problem.device_type != "cuda":
        return f"it computes on CUDA, and the input is on {problem.device_type}"
    if problem.recorded:
        return "its backward pass cannot be recorded by torch.jit.trace or the legacy ONNX exporter"
    return aten.refuse_formula(problem)


def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    """As `reference.run`."""
    if problem.layout.groups > 1:
        return grouped.run(run, problem, call)
    if problem.needs_grad:
        recorded: tuple[Tensor, Tensor] = _FusedGRU.apply(problem, call.batch_sizes, *call.tensors())  # type: ignore[no-untyped-call]
        return recorded
    return aten.run(problem, call._replace(weights=_in_one_buffer(problem, call.weights)))


def _in_one_buffer(problem: Problem, weights: Sequence[Tensor]) -> list[Tensor]:
    layout = problem.layout
    return one_buffer.views(weights, layout.num_layers, layout.bidirectional, layout.bias)


class _FusedGRU(torch.autograd.Function):
    """cuDNN forward and backward; a backward that must stay differentiable goes through the reference."""

    @staticmethod
    def forward(ctx: Any, problem: Problem, batch_sizes: Tensor | None, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        ctx.problem, ctx.batch_sizes = problem, batch_sizes
        ctx.save_for_backward(*tensors)
        needs = ctx.needs_input_grad[2:]
        with torch.enable_grad():
            given = Call.of(problem, [tensor.detach() for tensor in tensors], batch_sizes)
            given = given._replace(weights=_in_one_buffer(problem, given.weights))
            own = [tensor.detach().requires_grad_(need) for tensor, need in zip(given.tensors(), needs, strict=True)]
            ctx.own = own
            ctx.results = aten.run(problem, Call.of(problem, own, batch_sizes))
        return ctx.results[0].detach(), ctx.results[1].detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, grad_h_n: Tensor) -> Any:
        needs = ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():
            call = Call.of(ctx.problem, ctx.saved_tensors, ctx.batch_sizes)
            found = reference.gradients(ctx.problem, call, (grad_output, grad_h_n), needs)
            return (None, None, *found)
        wanted = [tensor for tensor, need in zip(ctx.own, needs, strict=True) if need]
        fused = iter(torch.autograd.grad(ctx.results, wanted, (grad_output, grad_h_n), retain_graph=True))
        return (None, None, *(next(fused) if need else None for need in needs))
