"""Kernels with a forward and a backward pass as one node of autograd, which can be differentiated again."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Problem, are_batched
from . import reference


class Kernels(NamedTuple):
    """The passes of a backend; see step 5 of README.md beside this file."""

    forward: Callable[..., tuple[Tensor, Tensor, Tensor]]
    backward: Callable[..., list[Tensor | None]]


def run(
    kernels: Kernels,
    problem: Problem,
    batch_sizes: Tensor | None,
    found: tuple[Tensor, Tensor, Tensor] | None,
    *tensors: Tensor,
) -> tuple[Tensor, Tensor]:
    """Output and h_n, connected by autograd to input, h_0, the weights and the modifiers (`tensors`).

    found: the result of the forward pass, if it was computed before.
    """
    results: tuple[Tensor, Tensor] = _GRU.apply(kernels, problem, batch_sizes, found, *tensors)  # type: ignore[no-untyped-call]
    return results


@cache
def _nothing(dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor without values."""
    return torch.empty(0, dtype=dtype, device=device)


class _GRU(torch.autograd.Function):
    """Profilers show the name of this class."""

    @staticmethod
    def forward(
        ctx: Any,
        kernels: Kernels,
        problem: Problem,
        batch_sizes: Tensor | None,
        found: tuple[Tensor, Tensor, Tensor] | None,
        *tensors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        output, h_n, reserve = found or _Operands.of(problem, batch_sizes, tensors).forward(kernels)
        ctx.kernels, ctx.problem, ctx.batch_sizes = kernels, problem, batch_sizes
        # The output is saved without its version, since torch's own GRU lets it be changed in place; `changes` tells backward
        # whether it was. It shares the output's version and none of its memory.
        ctx.changes = output.detach()
        ctx.changes.data = _nothing(output.dtype, output.device)
        ctx.version = output._version
        ctx.save_for_backward(output.data, reserve, *tensors)
        ctx.set_materialize_grads(False)
        return output, h_n

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        output, reserve, *tensors = ctx.saved_tensors
        problem, needs = ctx.problem, ctx.needs_input_grad[4:]
        call = _Operands.of(problem, ctx.batch_sizes, tensors)
        grad_output, grad_h_n = grads
        # Second derivatives and batched gradients need plain operations of torch.
        if torch.is_grad_enabled() or are_batched(grads):
            grad_output = torch.zeros_like(output) if grad_output is None else grad_output
            grad_h_n = torch.zeros_like(call.h_0) if grad_h_n is None else grad_h_n
            found = reference.gradients(problem, grad_output, grad_h_n, *call[1:5], needs, call.modifiers)
            return None, None, None, None, *found
        if ctx.changes._version != ctx.version:
            output, _, reserve = call.forward(ctx.kernels)
        found = ctx.kernels.backward(problem, grad_output, grad_h_n, *call[1:5], output, reserve, needs, call.modifiers)
        return None, None, None, None, *found


class _Operands(NamedTuple):
    """The tensors of a call."""

    problem: Problem
    input: Tensor
    h_0: Tensor
    weights: Sequence[Tensor]
    batch_sizes: Tensor | None
    modifiers: Modifiers

    @classmethod
    def of(cls, problem: Problem, batch_sizes: Tensor | None, tensors: Sequence[Tensor]) -> "_Operands":
        """From input, h_0, the weights and the modifiers."""
        end = 2 + problem.layout.num_layers * problem.layout.per_layer
        modifiers = Modifiers.of(problem.modified, tensors[end:]) if problem.modified else NONE
        return cls(problem, tensors[0], tensors[1], tensors[2:end], batch_sizes, modifiers)

    def forward(self, kernels: Kernels) -> tuple[Tensor, Tensor, Tensor]:
        return kernels.forward(*self[:5], True, self.modifiers)
