"""The state of a model at rest: after a constant input for so long that it no longer changes.

An amplifier that hears silence is not at zeros: its biases move its state, and a start from zeros is heard as a click.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..layers.gru import FrozenGRUCell, GRUCell
from ..layers.machine import Machine
from ..layers.stepper import constant_step, settled, start_of
from .checking import outputs_of, unwrapped
from .reading import PAIRS


class Rest(NamedTuple):
    """A state at rest.

    Attributes:
        states: of a sequence of modules, one for each GRU in the order of the file; of a graph, one row of all memories.
        input: [T, I], the constant input that leads there from zeros.
    """

    states: list[Tensor]
    input: Tensor


@torch.no_grad()
def rest_of_chain(model: nn.Module, inputs: int, value: Tensor | float) -> Rest:
    """The rest of a prepared sequence of modules.

    Raises:
        ArgumentError, ArgumentTypeError: the value does not fit, or the state does not come to rest.
    """
    step = constant_step(torch.empty(inputs), value)
    seen: list[tuple[nn.Module, Tensor]] = []
    total = 0
    row: Any = unwrapped(model)
    row = row.c_parts() if hasattr(row, "c_parts") else row

    def keep(module: nn.Module, arguments: Any, result: Any) -> None:
        cell = not isinstance(result, tuple)
        if cell and seen and seen[-1][0] is module:
            seen.pop()  # a cell is called for every step
        seen.append((module, result if cell else result[1]))

    def state_after(steps: int) -> Tensor:
        nonlocal total
        total += steps
        seen.clear()
        outputs_of(row, step.expand(total, inputs))
        return torch.cat([state.float().flatten() for _, state in seen])

    kinds = (*PAIRS, nn.GRUCell, GRUCell, FrozenGRUCell)
    hooks = [module.register_forward_hook(keep) for module in row.modules() if isinstance(module, kinds)]
    try:
        settled(state_after)
    finally:
        for hook in hooks:
            hook.remove()
    return Rest([state.float() for _, state in seen], step.expand(total, inputs))


def rest_of_graph(machine: Machine, value: Tensor | float) -> Rest:
    """The rest of a model as a graph; raises as `rest_of_chain`."""
    states, steps = start_of(machine, value)
    step = constant_step(machine.longer.new_empty(machine.step_shape), value).float().flatten()
    return Rest([states[0].float()], step.expand(steps, -1))
