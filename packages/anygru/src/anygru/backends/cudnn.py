"""NVIDIA's cuDNN through torch, for reset="after" on CUDA; unlike in torch, its gradient can be differentiated again."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import _VF, Tensor

from ..facts import torch_private
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Options, Problem, are_batched
from . import aten, cpu_calls, grouped, one_buffer, reference
from .backend import Backend

_GRU = 3
"""cuDNN's number of the GRU (`cudnnRNNMode_t`)."""


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
    call = call._replace(h_0=call.h_0.contiguous())
    if problem.needs_grad:
        recorded: tuple[Tensor, Tensor] = _FusedGRU.apply(problem, call.batch_sizes, *call.tensors())  # type: ignore[no-untyped-call]
        return recorded
    call, size = _in_one_buffer(problem, call)
    if not _is_plain(problem, call, size):
        return aten.run(problem, call)
    output, h_n, *_ = _forward(problem, call, size)
    return output, h_n


def direct(
    input: Tensor,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    options: Options,
    needs_grad: bool,
    modifiers: Modifiers = NONE,
) -> tuple[Tensor, Tensor] | None:
    """Fast path: a dense call [T, B, I] without the checks that repeat; None if anything about it is unusual or wrong."""
    tensors = (input, *weights) if h_0 is None else (input, *weights, h_0)
    if modifiers is not NONE or options.formula.gradient_clipping is not None or not _are_plain(tensors):
        return None
    shapes = tuple([one.shape for one in tensors])
    problem = aten.fitting("cuda", needs_grad, options.formula, options.layer, input.dtype, shapes, len(weights))
    if problem is None:
        return None
    if h_0 is None:
        h_0 = input.new_zeros((problem.layout.states(), shapes[0][1], shapes[2][1]))
    return run(problem, Call(input, h_0, weights))


def direct_cell(
    input: Tensor, h: Tensor | None, weights: Sequence[Tensor], options: Options, needs_grad: bool
) -> Tensor | None:
    """Fast path: a step [B, I] by torch's own cell on CUDA, which has second derivatives; None as for `direct`."""
    tensors = (input, *weights) if h is None else (input, *weights, h)
    if options.formula.gradient_clipping is not None or not _are_plain(tensors):
        return None
    first, *own = [one.shape for one in tensors]
    states = [torch.Size((1, *shape)) for shape in own[len(weights) :]]
    shapes = (torch.Size((1, *first)), *own[: len(weights)], *states)
    problem = aten.fitting("cuda", needs_grad, options.formula, options.layer, input.dtype, shapes, len(weights))
    if problem is None or problem.layout.states() > 1:
        return None
    h = input.new_zeros((first[0], own[1][1])) if h is None else h
    return _VF.gru_cell(input, h, *weights)


def _are_plain(tensors: Sequence[Tensor]) -> bool:
    """Whether they are dense tensors on one CUDA device and of one dtype, and none of a subclass or transform."""
    device, dtype = tensors[0].device, tensors[0].dtype
    return tensors[0].is_cuda and not any(
        type(one) not in cpu_calls.PLAIN
        or one.dtype is not dtype
        or one.device != device
        or one.layout is not torch.strided
        or torch_private.is_wrapped(one)
        for one in tensors
    )


def _in_one_buffer(problem: Problem, call: Call) -> tuple[Call, int]:
    """The call with its weights in one buffer, and the size of that, if there can be one; see `one_buffer.joined`."""
    layout = problem.layout
    weights, size = one_buffer.joined(call.weights, layout.num_layers, layout.bidirectional, layout.bias)
    return call._replace(weights=weights), size


def _is_plain(problem: Problem, call: Call, size: int) -> bool:
    """Whether torch's operators of cuDNN take a call as it is; the others go through `aten.run`."""
    return size > 0 and call.batch_sizes is None and not problem.layout.reverse


def _forward(problem: Problem, call: Call, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """output, h_n, what the backward pass needs, and the buffer of the weights."""
    buffer = call.weights[0].as_strided((size,), (1,), 0)
    given: Any = (call.input, call.weights, problem.layout.per_direction(), buffer, call.h_0, None)
    output, h_n, _, reserve, _ = torch._cudnn_rnn(*given, *_last_arguments(problem, call))
    return output, h_n, reserve, buffer


def _last_arguments(problem: Problem, call: Call) -> tuple[Any, ...]:
    """Of torch's operators: no projection, time first, no dropout, no packed rows."""
    layout = problem.layout
    sizes = (call.h_0.shape[2], 0, layout.num_layers)
    return _GRU, *sizes, False, 0.0, problem.needs_grad, layout.bidirectional, [], None


class _FusedGRU(torch.autograd.Function):
    """cuDNN forward and backward; a backward that must stay differentiable goes through the reference."""

    @staticmethod
    def forward(ctx: Any, problem: Problem, batch_sizes: Tensor | None, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        ctx.problem, ctx.batch_sizes = problem, batch_sizes
        call, size = _in_one_buffer(problem, Call.of(problem, [one.detach() for one in tensors], batch_sizes))
        ctx.is_plain = _is_plain(problem, call, size)
        if ctx.is_plain:
            output, h_n, ctx.reserve, buffer = _forward(problem, call, size)
            ctx.weights = call.weights
            ctx.save_for_backward(*tensors, buffer, output)
            return output, h_n
        ctx.save_for_backward(*tensors)
        with torch.enable_grad():
            pairs = zip(call.tensors(), ctx.needs_input_grad[2:], strict=True)
            ctx.own = [one.detach().requires_grad_(need) for one, need in pairs]
            ctx.results = aten.run(problem, Call.of(problem, ctx.own, batch_sizes))
        return ctx.results[0].detach(), ctx.results[1].detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, grad_h_n: Tensor) -> Any:
        grads, needs = (grad_output, grad_h_n), ctx.needs_input_grad[2:]
        call = Call.of(ctx.problem, ctx.saved_tensors, ctx.batch_sizes)
        if torch.is_grad_enabled() or are_batched(grads):
            return (None, None, *reference.gradients(ctx.problem, call, grads, needs))
        if ctx.is_plain:
            return (None, None, *_backward(ctx, call, grads, needs))
        wanted = [one for one, need in zip(ctx.own, needs, strict=True) if need]
        fused = iter(torch.autograd.grad(ctx.results, wanted, grads, retain_graph=True))
        return (None, None, *(next(fused) if need else None for need in needs))


def _backward(ctx: Any, call: Call, grads: tuple[Tensor, ...], needs: Sequence[bool]) -> list[Tensor | None]:
    """Gradients of what `_forward` computed, for each of `call.tensors()` that needs one."""
    *_, buffer, output = ctx.saved_tensors
    given = (call.input, ctx.weights, ctx.problem.layout.per_direction(), buffer, call.h_0, None, output, *grads, None)
    reserve = ctx.reserve.clone()  # cuDNN writes to it, and another backward pass may follow
    mask = (*needs[:2], False, any(needs[2:]))
    of_input, of_h_0, _, of_weights = torch.ops.aten._cudnn_rnn_backward(
        *given, *_last_arguments(ctx.problem, call), reserve, mask
    )
    found = (of_input, of_h_0, *(of_weights if mask[3] else [None] * len(ctx.weights)))
    return [grad if need else None for grad, need in zip(found, needs, strict=True)]


BACKEND = Backend("cudnn", refuse, run, "cuda", direct, direct_cell)
