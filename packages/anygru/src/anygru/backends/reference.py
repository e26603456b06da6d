"""The formulas in plain torch, to be compared with the papers in `formula.py`.

Takes everything: any activation, dtype and device, double backward, torch.func transforms. The other backends are
tested against it.
"""

from collections.abc import Callable, Sequence
from typing import NoReturn

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import ArgumentError, BackendError
from ..facts import torch_private
from ..facts.arguments import is_shape
from ..facts.formula import Activation, Formula, resolve
from ..facts.modifiers import Modifiers
from ..facts.problem import Call, Problem
from ..facts.quantization import round_rows
from .backend import Backend


def refuse(problem: Problem) -> str | None:
    """Never refuses."""
    return None


def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    """All layers and directions.

    A decay of 0 makes any state 0.

    Returns:
        output [T, B, D*H] or [N, D*H], and h_n [L*D, B, H].
    """
    return run_layers(_one_direction, problem, call)


def run_layers(
    one_direction: Callable[..., tuple[Tensor, Tensor]], problem: Problem, call: Call
) -> tuple[Tensor, Tensor]:
    """All layers and directions, each by `one_direction`, which has the arguments and results of `_one_direction`."""
    input, h_0, weights, sizes, modifiers = call
    layout = problem.layout
    final: list[Tensor] = []
    for layer in range(layout.num_layers):
        outputs = []
        for direction in range(layout.directions()):
            own = weights[layout.of_direction(layer, direction)]
            place = len(final)
            changes = modifiers.of_states(slice(place, place + 1))
            reverse = layout.is_reverse(direction)
            output, h_n = one_direction(problem, input, h_0[place], own, sizes, reverse, changes)
            outputs.append(output)
            final.append(h_n)
        input = outputs[0] if layout.directions() == 1 else torch.cat(outputs, -1)
    return input, torch.stack(final)


def gradients(
    problem: Problem,
    call: Call,
    grads: tuple[Tensor, Tensor],
    needs: Sequence[bool],
    tracked: Sequence[bool] | None = None,
    compute: Callable[[Problem, Call], tuple[Tensor, Tensor]] = run,
) -> list[Tensor | None]:
    """Gradients for each of `call.tensors`, in that order; differentiable again in grad mode.

    It gives double backward to a fused kernel without a differentiable backward: the forward is computed again from the
    same tensors in a form that autograd can walk.

    Args:
        grads: the gradients that arrived, shaped as the results.
        needs: which of `call.tensors` want a gradient; the others get None.
        tracked: which of them required a gradient in the forward pass, and so have second derivatives; None: as `needs`.
        compute: the forward pass.
    """
    create_graph = torch.is_grad_enabled()
    if create_graph and problem.formula.gradient_clipping is not None and torch_private.transform() is None:
        _refuse_second_derivative()
    with torch.enable_grad():
        inputs = call.tensors()
        # Under a transform of torch.func no tensor can be made to require a gradient.
        connected = create_graph or torch_private.transform() is not None
        # Views, since a state may itself have been computed from the weights, by a step before this call.
        inputs = tuple(
            tensor.view_as(tensor) if connected and was_tracked and tensor.requires_grad else _leaf(tensor, need)
            for tensor, need, was_tracked in zip(inputs, needs, needs if tracked is None else tracked, strict=True)
        )
        results = compute(problem, Call.of(problem, inputs, call.batch_sizes))
        wanted = [tensor for tensor, need in zip(inputs, needs, strict=True) if need]
        found = torch.autograd.grad(results, wanted, grads, create_graph=create_graph, allow_unused=True)
    remaining = iter(found)
    return [next(remaining) if need else None for need in needs]


def _leaf(tensor: Tensor, needs_grad: bool) -> Tensor:
    return tensor.detach().requires_grad_() if needs_grad else tensor.detach()


def _one_direction(
    problem: Problem,
    input: Tensor,
    h: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    reverse: bool,
    modifiers: Modifiers,
) -> tuple[Tensor, Tensor]:
    """Output rows, shaped as the input except for the last dimension, and the final state [B, H]."""
    sizes = None if batch_sizes is None else batch_sizes.tolist()
    from_input, from_state = products_of(problem, weights)
    steps = _steps(from_input(input), sizes)  # [T, B, 3H] or [N, 3H]: one product for all steps
    of_rows = (modifiers.decay, modifiers.offset, modifiers.candidate, modifiers.zoneout)
    each = [_each_step(values, steps, sizes) for values in of_rows]
    outputs = []
    for t in range(len(steps))[:: -1 if reverse else 1]:
        # The sequences that have this step are the first, since the longest come first.
        running = None if sizes is None else sizes[t]
        mask = None if modifiers.mask is None else modifiers.mask[0, :running]
        outputs.append(
            advance(problem.formula, steps[t], h[:running], from_state, [values[t] for values in each], mask)
        )
        h = outputs[-1] if running is None or running == h.shape[0] else torch.cat((outputs[-1], h[running:]))
    if reverse:
        outputs.reverse()
    if not outputs:
        return from_input(input, 2, 3), h  # of no rows, and known to autograd
    return (torch.stack(outputs) if sizes is None else torch.cat(outputs)), h


def products_of(problem: Problem, weights: Sequence[Tensor]) -> "tuple[Product, Product]":
    """The products of one direction: with the input, and with the state."""
    own = dict(zip(problem.layout.kinds(), weights, strict=True))
    return Product(problem, own, "ih"), Product(problem, own, "hh")


def advance(
    formula: Formula,
    from_input: Tensor,
    h: Tensor,
    from_state: "Product",
    changes: Sequence[Tensor | None],
    mask: Tensor | None,
) -> Tensor:
    """The state after one step, from the state h [B, H] before it and the input's share of the gates [B, 3H].

    Args:
        changes: decay, offset, candidate and zoneout of the step, and the mask of all steps; see `modifiers`.
    """
    decay, offset, candidate_mask, zoneout = changes
    step = _step_after if formula.reset == "after" else _step_before
    before = decayed(_clipped(h, formula.gradient_clipping), decay)
    before = before if offset is None else before + offset
    read = before if mask is None else before * mask
    update, candidate = step(formula, from_input, read, from_state)
    candidate = candidate if candidate_mask is None else candidate * candidate_mask
    update = update if zoneout is None else update + zoneout * (1 - update)
    return candidate + update * (before - candidate)


class Product:
    """The product with weight_ih or weight_hh, with its norm and its bias."""

    def __init__(self, problem: Problem, weights: dict[str, Tensor], suffix: str) -> None:
        self.rounds_rows, self.groups = problem.rounds_rows, problem.layout.groups
        self.splits = self.groups > 1 and (suffix == "hh" or problem.layout.splits_input)
        self.weight, self.bias, self.gain = (weights.get(f"{kind}_{suffix}") for kind in ("weight", "bias", "gain"))

    def __call__(self, values: Tensor, first: int = 0, last: int = 3) -> Tensor:
        """[..., (last - first) * H]: the gates from `first` to before `last`."""
        assert self.weight is not None
        if self.gain is not None and (first, last) == (0, 3):
            return torch.cat((self(values, 0, 2), self(values, 2, 3)), -1)
        if self.splits:
            values = values.unflatten(-1, (self.groups, -1))
        if self.rounds_rows:
            values = round_rows(values)
        units = self.weight.shape[-2] // 3
        weight, bias, gain = (
            None if one is None else one.narrow(int(self.groups > 1), first * units, (last - first) * units)
            for one in (self.weight, self.bias, self.gain)
        )
        assert weight is not None
        if self.groups > 1:
            return self._of_groups(values, (weight, bias, gain), last - first)
        if gain is None:
            return F.linear(values, weight, bias)
        product = F.linear(values, weight)
        return F.layer_norm(product, product.shape[-1:], gain, bias)

    def _of_groups(self, values: Tensor, own: tuple[Tensor, Tensor | None, Tensor | None], gates: int) -> Tensor:
        """The same of `values` [..., G, features], or [..., features] where all groups read the same, and weights [G, ...]."""
        weight, bias, gain = own
        if self.splits:
            product = torch.einsum("...gk,grk->...gr", values, weight)
        else:
            product = F.linear(values, weight.flatten(0, 1)).view(*values.shape[:-1], *weight.shape[:2])
        if gain is not None:
            product = F.layer_norm(product, product.shape[-1:]) * gain
        product = product if bias is None else product + bias
        by_gate: Tensor = product.unflatten(-1, (gates, -1)).transpose(-3, -2)
        return by_gate.flatten(-3)


def _clipped(state: Tensor, most: float | None) -> Tensor:
    """The state; its gradient through this result stays between -`most` and `most`."""
    if most is None or not state.requires_grad:
        return state
    if torch.compiler.is_compiling():
        raise BackendError(
            "gradient_clipping in a graph needs activations that have names, and not backend='reference' or torch.func"
        )
    state = state.view_as(state)
    state.register_hook(lambda grad: _clip(grad, most))
    return state


def _clip(grad: Tensor, most: float) -> Tensor:
    if torch.is_grad_enabled() and torch_private.transform() is None:
        _refuse_second_derivative()
    return grad.clamp(-most, most)


def _refuse_second_derivative() -> NoReturn:
    """Of clipped gradients: a derivative of one must not be clipped, but would go back through the hooks of the first.

    The levels of torch.func keep them apart: a hook belongs to the level that it was registered in.
    """
    raise BackendError(
        "gradient_clipping has no second derivatives by create_graph=True: leave it out, differentiate torch.func.grad "
        "instead, or set gradient_clipping to None"
    )


def _steps(rows: Tensor, sizes: list[int] | None) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = rows.unbind(0) if sizes is None else rows.split(sizes)
    return found


def _each_step(factors: Tensor | None, steps: Sequence[Tensor], sizes: list[int] | None) -> Sequence[Tensor | None]:
    """Factors of one state [1, T, B, W] or [1, N, W] for each step, or one for all."""
    if factors is None or factors.numel() == 1:
        return (None if factors is None else factors.flatten(),) * len(steps)
    return _steps(factors[0], sizes)


def decayed(h: Tensor, decay: Tensor | None) -> Tensor:
    """The state times its decay; 0 where the decay is 0, even if the state is infinite or NaN."""
    if decay is None:
        return h
    return torch.where((decay == 0) & ~torch.isfinite(h), 0.0, h) * decay


def _step_after(formula: Formula, from_input: Tensor, h: Tensor, product: Product) -> tuple[Tensor, Tensor]:
    """Update gate and candidate of the sequences in h [B, H], from the input's share of the gates [B, 3H]."""
    input_r, input_z, input_n = from_input.chunk(3, -1)
    state_r, state_z, state_n = product(h).chunk(3, -1)
    reset = _gate(formula, input_r + state_r)
    return _gate(formula, input_z + state_z), _candidate(formula, input_n + reset * state_n)


def _step_before(formula: Formula, from_input: Tensor, h: Tensor, product: Product) -> tuple[Tensor, Tensor]:
    """The same for reset="before"."""
    input_r, input_z, input_n = from_input.chunk(3, -1)
    state_r, state_z = product(h, 0, 2).chunk(2, -1)
    reset = _gate(formula, input_r + state_r)
    return _gate(formula, input_z + state_z), _candidate(formula, input_n + product(reset * h, 2, 3))


def _gate(formula: Formula, values: Tensor) -> Tensor:
    return _activate("gate_activation", formula.gate_activation, values)


def _candidate(formula: Formula, values: Tensor) -> Tensor:
    return _activate("activation", formula.activation, values)


def _activate(argument: str, activation: Activation, values: Tensor) -> Tensor:
    found = resolve(activation)(values)
    if not isinstance(activation, str) and not is_shape(found.shape, values.shape):  # it would be broadcast
        raise ArgumentError(f"{argument} must keep the shape {list(values.shape)}, got {list(found.shape)}")
    return found


BACKEND = Backend("reference", refuse, run)
