"""One step of a cell: one native call forward and one backward."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..facts.formula import Formula
from ..facts.problem import Call, Options, are_batched, plain_problem
from . import cpu_calls, reference
from .cpu_calls import native
from .cpu_sums import Loop, loop_of


def direct_cell(
    input: Tensor, h: Tensor | None, weights: Sequence[Tensor], options: Options, needs_grad: bool
) -> Tensor | None:
    """One step [B, I] or [I], as `direct` of `cpu.py`: the state after it."""
    if native is None or not options.formula.standard or (options.norm and needs_grad):
        return None
    kind = cpu_calls.kind(False, options.bias, False, options.norm, options.formula.reset)
    found = native.cell(input, h, weights, kind, torch.get_num_threads(), needs_grad)
    if found is None or not needs_grad:
        return found
    loop = loop_of(weights, kind)
    facts = (kind, options.formula, found, loop)
    if loop is None or loop.anchor is None:
        recorded: Tensor = _GRUCell.apply(facts, None, input, h, *weights)  # type: ignore[no-untyped-call]
    else:
        recorded = _GRUCell.apply(facts, loop.anchor, input, h)  # type: ignore[no-untyped-call]
    return recorded


class _GRUCell(torch.autograd.Function):
    """A step as one node of autograd. Gradients go to the weights directly, or through the anchor of a loop."""

    @staticmethod
    def forward(
        ctx: Any,
        facts: tuple[Any, Formula, tuple[Tensor, Tensor], Loop | None],
        anchor: Tensor | None,
        input: Tensor,
        h: Tensor | None,
        *weights: Tensor,
    ) -> Tensor:
        kind, formula, (state, reserve), loop = facts
        ctx.kind, ctx.formula, ctx.loop, ctx.is_anchored = kind, formula, loop, anchor is not None
        if loop is not None and anchor is not None:
            weights = loop.weights
        ctx.save_for_backward(reserve, input, h, *weights)
        return state

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        reserve, input, h, *weights = ctx.saved_tensors
        needs = ctx.needs_input_grad[2:]
        to_anchor = ctx.is_anchored and ctx.loop.is_wanted()
        if ctx.is_anchored:
            needs = (*needs, *(to_anchor for _ in weights))
        found: list[Tensor | None] | None = None
        first = not torch.is_grad_enabled() and not are_batched((grad,))
        if first:
            found = native.backward_of_layer(
                {
                    "kind": ctx.kind,
                    "grad_h_n": grad if grad.is_contiguous() else grad.contiguous(),
                    "input": input,
                    "h_0": h,
                    "weights": weights,
                    "reserve": reserve,
                    "needs": (*needs[:2], *(False for _ in weights)) if to_anchor else needs,
                    "threads": torch.get_num_threads(),
                    "gives_gates": to_anchor,
                }
            )
        if found is None:
            found = _gradients_of_step(ctx.formula, grad, input, h, weights, needs)
            if to_anchor:
                ctx.loop.add_gradients(found[2:])
        elif to_anchor:
            ctx.loop.add_rows(found.pop(), input, h, reserve if ctx.formula.reset == "before" else None)
        return None, None, *found[: 2 if ctx.is_anchored else None]


def _gradients_of_step(
    formula: Formula, grad: Tensor, input: Tensor, h: Tensor | None, weights: Sequence[Tensor], needs: Sequence[bool]
) -> list[Tensor | None]:
    """Gradients for (input, h, *weights), computed by torch, so that they can be differentiated again."""

    def whole(tensor: Tensor) -> Tensor:
        return tensor.reshape(1, -1, tensor.shape[-1])

    problem = plain_problem(formula, (False, len(weights) == 4), len(weights), input.dtype)
    state = input.new_zeros((*input.shape[:-1], weights[1].shape[1])) if h is None else h
    arriving = (whole(grad), torch.zeros_like(whole(state)))
    found = reference.gradients(problem, Call(whole(input), whole(state), weights), arriving, needs)
    return [
        None if own is None else own.reshape(tensor.shape)
        for own, tensor in zip(found, (input, state, *weights), strict=True)
    ]
