"""Groups of hidden units on a backend without groups: each group of each layer is a separate call."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..facts.problem import Call, Problem


def run(
    compute: Callable[[Problem, Call], tuple[Tensor, Tensor]], problem: Problem, call: Call
) -> tuple[Tensor, Tensor]:
    """As `reference.run` for a problem with groups and no modifiers; `compute` is the same function for a layer without
    groups."""
    layout = problem.layout
    alone = problem._replace(layout=layout._replace(num_layers=1, groups=1, splits_input=False))
    units = call.h_0.shape[2] // layout.groups
    input, final = call.input, []
    for layer in range(layout.num_layers):
        width = layout.read_by_group(input.shape[-1])
        states, weights = call.h_0[layout.states_of_layer(layer)], call.weights[layout.of_layer(layer)]
        found = []
        for group in range(layout.groups):
            part = input.narrow(-1, group * width, width).contiguous() if layout.splits_input else input
            h_0 = states.narrow(2, group * units, units).contiguous()
            own = call._replace(input=part, h_0=h_0, weights=layout.of_group(weights, group))
            found.append(compute(alone, own))
        outputs, last = zip(*found, strict=True)
        by_direction = [output.unflatten(-1, (layout.directions(), units)) for output in outputs]
        input = torch.cat(by_direction, -1).flatten(-2)
        final.append(torch.cat(last, 2))
    return input, torch.cat(final)
