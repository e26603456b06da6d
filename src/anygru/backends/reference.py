"""The formulas in plain torch, to be read beside the papers in `formula.py`.

Takes everything: any activation, dtype and device, double backward, torch.func transforms. What the other backends are
tested against.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import ArgumentError
from ..formula import Activation, Formula, resolve
from .problem import Problem


def refuse(problem: Problem) -> str | None:
    """Never refuses."""
    return None


def run(
    problem: Problem,
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    decay: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """All layers and directions.

    Args:
        input: [T, B, I], or packed rows [N, I] if batch_sizes is given.
        h_0: [L*D, B, H]; for packed rows in order of decreasing length.
        weights: flat, as `functional.gru` takes them.
        batch_sizes: int64 [T] on the CPU: how many sequences have a step t. Never increases.
        decay: factors of the state before each step, [L*D, T, B, H] (packed rows: [L*D, N, H]); the first dimension may be 1 for
            all layers and directions, the last for all hidden units. A state whose factor is 0 is 0, whatever it was.

    Returns:
        output [T, B, D*H] or [N, D*H], and h_n [L*D, B, H].
    """
    layout = problem.layout
    sizes = None if batch_sizes is None else batch_sizes.tolist()
    final: list[Tensor] = []
    for layer in range(layout.num_layers):
        outputs = []
        for direction in range(layout.directions):
            own = weights[layout.of_direction(layer, direction)]
            factors = None if decay is None else decay[len(final) if len(decay) > 1 else 0]
            reverse = layout.is_reverse(direction)
            output, h_n = _one_direction(problem.formula, input, h_0[len(final)], own, sizes, reverse, factors)
            outputs.append(output)
            final.append(h_n)
        input = outputs[0] if layout.directions == 1 else torch.cat(outputs, -1)
    return input, torch.stack(final)


def gradients(
    problem: Problem,
    grad_output: Tensor,
    grad_h_n: Tensor,
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    needs: Sequence[bool],
    decay: Tensor | None = None,
) -> list[Tensor | None]:
    """Gradients for input, h_0, each weight and decay (if given), in that order; differentiable again while grad mode is on.

    It is how a fused kernel, whose own backward cannot be differentiated, supports double backward: the forward is computed
    anew from the same tensors in a form that autograd can walk.

    Args:
        grad_output, grad_h_n: the gradients that arrived, shaped as the results.
        needs: which of (input, h_0, *weights, decay) want a gradient; the others get None.
    """
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        count = len(weights)
        inputs = (input, h_0, *weights) if decay is None else (input, h_0, *weights, decay)
        if not create_graph:
            inputs = tuple(tensor.detach().requires_grad_(need) for tensor, need in zip(inputs, needs, strict=True))
        results = run(problem, inputs[0], inputs[1], inputs[2 : 2 + count], batch_sizes, *inputs[2 + count :])
        wanted = [tensor for tensor, need in zip(inputs, needs, strict=True) if need]
        found = torch.autograd.grad(
            results, wanted, (grad_output, grad_h_n), create_graph=create_graph, allow_unused=True
        )
    remaining = iter(found)
    return [next(remaining) if need else None for need in needs]


def _one_direction(
    formula: Formula,
    input: Tensor,
    h: Tensor,
    weights: Sequence[Tensor],
    sizes: list[int] | None,
    reverse: bool,
    decay: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Output rows, shaped as the input but for the last dimension, and the final state [B, H]."""
    weight_ih, weight_hh = weights[:2]
    bias_ih, bias_hh = weights[2:] if len(weights) == 4 else (None, None)
    step = _step_after if formula.reset == "after" else _step_before
    from_input = F.linear(input, weight_ih, bias_ih)  # [T, B, 3H] or [N, 3H]: one product for all steps
    steps = _steps(from_input, sizes)
    factors = (None,) * len(steps) if decay is None else _steps(decay, sizes)
    outputs = []
    for t in range(len(steps))[:: -1 if reverse else 1]:
        # The sequences that have this step are the first, since the longest come first.
        running = None if sizes is None else sizes[t]
        outputs.append(step(formula, steps[t], _decayed(h[:running], factors[t]), weight_hh, bias_hh))
        h = outputs[-1] if running is None or running == h.shape[0] else torch.cat((outputs[-1], h[running:]))
    if reverse:
        outputs.reverse()
    if not outputs:
        return input.new_empty((*input.shape[:-1], h.shape[-1])), h
    return (torch.stack(outputs) if sizes is None else torch.cat(outputs)), h


def _steps(rows: Tensor, sizes: list[int] | None) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = rows.unbind(0) if sizes is None else rows.split(sizes)
    return found


def _decayed(h: Tensor, decay: Tensor | None) -> Tensor:
    """The state times its decay; 0 where the decay is 0, even if the state is infinite or NaN."""
    if decay is None:
        return h
    return torch.where((decay == 0) & ~torch.isfinite(h), 0.0, h) * decay


def _step_after(formula: Formula, from_input: Tensor, h: Tensor, weight_hh: Tensor, bias_hh: Tensor | None) -> Tensor:
    """One step of the sequences in h [B, H], from the input's share of the gates [B, 3H]."""
    input_r, input_z, input_n = from_input.chunk(3, -1)
    state_r, state_z, state_n = F.linear(h, weight_hh, bias_hh).chunk(3, -1)
    reset = _gate(formula, input_r + state_r)
    update = _gate(formula, input_z + state_z)
    candidate = _candidate(formula, input_n + reset * state_n)
    return candidate + update * (h - candidate)


def _step_before(formula: Formula, from_input: Tensor, h: Tensor, weight_hh: Tensor, bias_hh: Tensor | None) -> Tensor:
    """The same for reset="before"."""
    input_r, input_z, input_n = from_input.chunk(3, -1)
    weight_r, weight_z, weight_n = weight_hh.chunk(3)
    bias_r, bias_z, bias_n = (None, None, None) if bias_hh is None else bias_hh.chunk(3)
    reset = _gate(formula, input_r + F.linear(h, weight_r, bias_r))
    update = _gate(formula, input_z + F.linear(h, weight_z, bias_z))
    candidate = _candidate(formula, input_n + F.linear(reset * h, weight_n, bias_n))
    return candidate + update * (h - candidate)


def _gate(formula: Formula, values: Tensor) -> Tensor:
    return _activate("gate_activation", formula.gate_activation, values)


def _candidate(formula: Formula, values: Tensor) -> Tensor:
    return _activate("activation", formula.activation, values)


def _activate(argument: str, activation: Activation, values: Tensor) -> Tensor:
    found = resolve(activation)(values)
    if not isinstance(activation, str) and found.shape != values.shape:  # it would be broadcast
        raise ArgumentError(f"{argument} must keep the shape {list(values.shape)}, got {list(found.shape)}")
    return found
