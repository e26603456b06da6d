"""One step of a cell: one native call forward and one backward."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ..facts import torch_private
from ..facts.problem import Call, Options, are_batched, plain_problem
from . import cpu_calls, products, reference
from .cpu_calls import native
from .cpu_sums import Loop, loop_of
from .recorded import keep, plan, refuse_changed, restore


def direct_cell(
    input: Tensor, h: Tensor | None, weights: Sequence[Tensor], options: Options, needs_grad: bool
) -> Tensor | None:
    """One step [B, I] or [I], as `direct` of `cpu.py`: the state after it."""
    if (
        native is None
        or not options.formula.named()
        or ((options.layer.norm or options.layer.groups > 1) and needs_grad)
    ):
        return None
    precision = products.precision_of(input)
    kind = cpu_calls.kind(options.formula, options.layer, precision)
    if input.dtype in (torch.bfloat16, torch.float16):
        return None if needs_grad else _direct_of_halves(input, h, weights, kind)
    found = native.cell(input, h, weights, kind, torch.get_num_threads(), needs_grad)
    if found is None:
        copies = _copied(input, h, weights)
        found = None if copies is None else native.cell(*copies, kind, torch.get_num_threads(), needs_grad)
    if found is None or not needs_grad:
        return found
    loop = loop_of(weights, kind, h)
    facts = (kind, options, found, loop)
    if loop is None or loop.anchor is None:
        recorded: Tensor = _apply(facts, None, input, h, *weights)
    else:
        recorded = _apply(facts, loop.anchor, input, h)
    return recorded


def _direct_of_halves(input: Tensor, h: Tensor | None, weights: Sequence[Tensor], kind: Any) -> Tensor | None:
    """A step without gradients in float32; None also if torch's kernel is faster."""
    batch = input.shape[0] if input.dim() == 2 else 1
    if not products.are_read_in_place(input.dtype, 1, batch) and products.are_faster_in_torch(
        input.dtype, *products.sizes(input.reshape(1, -1, input.shape[-1]), None, weights)
    ):
        return None
    found: Tensor | None = native.cell(input, h, weights, kind, torch.get_num_threads(), False)
    if found is not None:
        return found
    wide = cpu_calls.widened(input, h, weights)
    found = None if wide is None else native.cell(*wide, kind, torch.get_num_threads(), False)
    return None if found is None else found.to(input.dtype)


class _GRUCell(torch.autograd.Function):
    """A step as one node of autograd. Gradients go to the weights directly, or through the anchor of a loop."""

    @staticmethod
    def forward(
        ctx: Any,
        facts: tuple[Any, Options, tuple[Tensor, Tensor], Loop | None],
        anchor: Tensor | None,
        input: Tensor,
        h: Tensor | None,
        *weights: Tensor,
    ) -> Tensor:
        kind, options, (state, reserve), loop = facts
        ctx.kind, ctx.options, ctx.loop, ctx.is_anchored = kind, options, loop, anchor is not None
        if anchor is None:
            planned = plan(options.layer, options.formula.reset, ctx.needs_input_grad[2:], True)
            keep(ctx, (reserve,), (input, h, *weights), planned)
        else:  # all weights are trained, and h has a graph: `plan` would find the same
            assert loop is not None
            weight_ih, weight_hh, *_ = loop.weights
            read = (weight_hh, weight_ih) if ctx.needs_input_grad[2] else (weight_hh,)
            ctx.save_for_backward(reserve, input, h, *read)
        return state

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        again = torch.is_grad_enabled() or are_batched((grad,))
        reserve, input, h, *weights = _kept(ctx, again)
        needs = ctx.needs_input_grad[2:]
        to_anchor = ctx.is_anchored and ctx.loop.is_wanted()
        if ctx.is_anchored:
            needs = (*needs, *(to_anchor for _ in weights))
        found: list[Tensor | None] | None = None
        if not again:
            found = _backward(ctx, grad, (input, h, weights), reserve, needs, to_anchor)
            copies = None if found is not None else _copied(input, h, weights)
            if copies is not None:
                found = _backward(ctx, grad, copies, reserve, needs, to_anchor)
        if found is None:
            if not again:  # the kernel has declined
                _check_unchanged(ctx)
            tracked = (*needs[:2], *(True for _ in weights)) if ctx.is_anchored else needs
            found = _gradients_of_step(ctx.options, grad, input, h, weights, needs, tracked)
            if to_anchor:
                ctx.loop.add_gradients(found[2:])
        elif to_anchor:
            ctx.loop.add_rows(found.pop(), input, h, reserve if ctx.options.formula.reset == "before" else None)
        return None, None, *found[: 2 if ctx.is_anchored else None]


def _kept(ctx: Any, again: bool) -> Sequence[Any]:
    """The reserve and the tensors of a step; see `restore`. A checkpoint lets a backward pass ask only once."""
    if not ctx.is_anchored:
        (reserve,), tensors = restore(ctx, 1, again)
        return reserve, *tensors
    reserve, input, h, *_ = ctx.saved_tensors
    if again:
        _check_unchanged(ctx)
    return reserve, input, h, *ctx.loop.weights


def _check_unchanged(ctx: Any) -> None:
    """Raise RuntimeError if a tensor has changed by which the step would be computed again."""
    if ctx.is_anchored:
        refuse_changed(ctx.loop.weights, ctx.loop.versions)
    else:
        _, others, versions, _ = ctx.kept
        refuse_changed(others, versions)


_apply = torch_private.plain_apply(_GRUCell)

_Step: TypeAlias = tuple[Tensor, Tensor | None, Sequence[Tensor]]
"""Input, h and weights."""


def _copied(input: Tensor, h: Tensor | None, weights: Sequence[Tensor]) -> _Step | None:
    """See `cpu_calls.copied`."""
    copies = cpu_calls.copied([input, *weights] if h is None else [input, *weights, h])
    if copies is None:
        return None
    return copies[0], None if h is None else copies.pop(), copies[1:]


def _backward(
    ctx: Any, grad: Tensor, step: _Step, reserve: Tensor, needs: Sequence[bool], to_anchor: bool
) -> list[Tensor | None] | None:
    """The native module's gradients of a step, and with an anchor the gradients of the gates; None if it declines."""
    input, h, weights = step
    return native.backward_of_layer(
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
            "clipping": ctx.options.formula.gradient_clipping,
        }
    )


def _gradients_of_step(
    options: Options,
    grad: Tensor,
    input: Tensor,
    h: Tensor | None,
    weights: Sequence[Tensor],
    needs: Sequence[bool],
    tracked: Sequence[bool],
) -> list[Tensor | None]:
    """Gradients for (input, h, *weights) in operations of torch, which can be differentiated again; see `reference.gradients`."""

    def whole(tensor: Tensor) -> Tensor:
        # Not the method: a head gradient may be of a subclass with another signature of `reshape`.
        return torch.reshape(tensor, (1, -1, tensor.shape[-1]))

    problem = plain_problem(options.formula, options.layer, len(weights), input.dtype)
    state = input.new_zeros((*input.shape[:-1], weights[1].shape[1])) if h is None else h
    arriving = (whole(grad), torch.zeros_like(whole(state)))
    found = reference.gradients(problem, Call(whole(input), whole(state), weights), arriving, needs, tracked)
    return [
        None if own is None else own.reshape(tensor.shape)
        for own, tensor in zip(found, (input, state, *weights), strict=True)
    ]
