"""The forward and the backward pass of a backend as one node of autograd, which can be differentiated again."""

from typing import Any

import torch
from torch import Tensor

from ..facts import torch_private
from ..facts.problem import Call, Problem, are_batched
from . import reference
from .backend import Backend, Results


def run(backend: Backend, problem: Problem, call: Call, found: tuple[Tensor, Tensor, Tensor] | None = None) -> Results:
    """Output and h_n, connected by autograd to the call's tensors.

    found: the result of the forward pass, if it was computed before: no transform of torch.func is active then.
    """
    apply = _GRU.apply if found is None else _plain_apply
    results: Results = apply(backend, problem, call, found, *call.tensors())  # type: ignore[no-untyped-call]
    return results


class _GRU(torch.autograd.Function):
    """Profilers show the name of this class."""

    @staticmethod
    def forward(
        ctx: Any,
        backend: Backend,
        problem: Problem,
        call: Call,
        found: tuple[Tensor, Tensor, Tensor] | None,
        *tensors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        if found is None:
            assert backend.forward is not None
            found = backend.forward(problem, call, True)
        output, h_n, reserve = found
        ctx.backend, ctx.problem, ctx.batch_sizes = backend, problem, call.batch_sizes
        # The output is the caller's, who may change its memory out of autograd's sight: backward reads a copy of the states.
        ctx.save_for_backward(output.clone(), reserve, *tensors)
        ctx.set_materialize_grads(False)
        return output, h_n

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        states, reserve, *tensors = ctx.saved_tensors
        problem, needs = ctx.problem, ctx.needs_input_grad[4:]
        call = Call.of(problem, tensors, ctx.batch_sizes)
        grad_output, grad_h_n = grads
        # Second derivatives and batched gradients need plain operations of torch.
        if torch.is_grad_enabled() or are_batched(grads):
            grad_output = torch.zeros_like(states) if grad_output is None else grad_output
            grad_h_n = torch.zeros_like(call.h_0) if grad_h_n is None else grad_h_n
            found = reference.gradients(problem, call, (grad_output, grad_h_n), needs)
        else:
            found = ctx.backend.backward(problem, call, (states, reserve), (grad_output, grad_h_n), needs)
        return None, None, None, None, *found


_plain_apply = torch_private.plain_apply(_GRU)
