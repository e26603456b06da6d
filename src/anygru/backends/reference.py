"""The formulas in plain torch, to be read beside the papers in `formula.py`.

Takes everything: any activation, dtype and device, double backward, torch.func transforms. What the other backends are
tested against.
"""

import functools
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
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
) -> tuple[Tensor, Tensor]:
    """All layers and directions.

    Args:
        input: [T, B, I], or packed rows [N, I] if batch_sizes is given.
        h_0: [L*D, B, H]; for packed rows in order of decreasing length.
        weights: flat, as `functional.gru` takes them.
        batch_sizes: int64 [T] on the CPU: how many sequences have a step t. Never increases.

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
            output, h_n = _one_direction(
                problem.formula, input, h_0[len(final)], own, sizes, layout.is_reverse(direction)
            )
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
) -> list[Tensor | None]:
    """Gradients for input, h_0 and each weight, in that order; differentiable again while grad mode is on.

    It is how a fused kernel, whose own backward cannot be differentiated, supports double backward: the forward is computed
    anew from the same tensors in a form that autograd can walk.

    Args:
        grad_output, grad_h_n: the gradients that arrived, shaped as the results.
        needs: which of (input, h_0, *weights) want a gradient; the others get None.
    """
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        inputs = (input, h_0, *weights)
        if not create_graph:
            inputs = tuple(tensor.detach().requires_grad_(need) for tensor, need in zip(inputs, needs, strict=True))
        results = run(problem, inputs[0], inputs[1], inputs[2:], batch_sizes)
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
) -> tuple[Tensor, Tensor]:
    """Output rows, shaped as the input but for the last dimension, and the final state [B, H]."""
    weight_ih, weight_hh = weights[:2]
    bias_ih, bias_hh = weights[2:] if len(weights) == 4 else (None, None)
    from_input = F.linear(input, weight_ih, bias_ih)  # [T, B, 3H] or [N, 3H]: one product for all steps
    steps = from_input.unbind(0) if sizes is None else from_input.split(sizes)
    outputs = []
    for gates in reversed(steps) if reverse else steps:
        running = gates.shape[0]  # sequences that have this step; the longest come first
        if running == h.shape[0]:
            h = _step(formula, gates, h, weight_hh, bias_hh)
            outputs.append(h)
        else:
            outputs.append(_step(formula, gates, h[:running], weight_hh, bias_hh))
            h = torch.cat((outputs[-1], h[running:]))
    if reverse:
        outputs.reverse()
    if not outputs:
        return input.new_empty((*input.shape[:-1], h.shape[-1])), h
    return (torch.stack(outputs) if sizes is None else torch.cat(outputs)), h


def _step(formula: Formula, from_input: Tensor, h: Tensor, weight_hh: Tensor, bias_hh: Tensor | None) -> Tensor:
    """One step of the sequences in h [B, H], from the input's share of the gates [B, 3H]."""
    gate = functools.partial(_activate, "gate_activation", formula.gate_activation)
    activation = functools.partial(_activate, "activation", formula.activation)
    size = h.shape[-1]
    input_r, input_z, input_n = from_input.split(size, -1)
    if formula.reset == "after":
        state_r, state_z, state_n = F.linear(h, weight_hh, bias_hh).split(size, -1)
        reset = gate(input_r + state_r)
        update = gate(input_z + state_z)
        candidate = activation(input_n + reset * state_n)
    else:
        gates_bias, candidate_bias = (None, None) if bias_hh is None else bias_hh.split((2 * size, size))
        state_r, state_z = F.linear(h, weight_hh[: 2 * size], gates_bias).split(size, -1)
        reset = gate(input_r + state_r)
        update = gate(input_z + state_z)
        candidate = activation(input_n + F.linear(reset * h, weight_hh[2 * size :], candidate_bias))
    return candidate + update * (h - candidate)


def _activate(argument: str, activation: Activation, values: Tensor) -> Tensor:
    found = resolve(activation)(values)
    if found.shape != values.shape:  # which would be broadcast, and compute something else
        raise ArgumentError(f"{argument} must keep the shape {list(values.shape)}, got {list(found.shape)}")
    return found
