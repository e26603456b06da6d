"""One step of a whole model as a module whose states are an input and an output."""

from typing import Any

import torch
from torch import Tensor, nn

from ..layers.machine import Machine
from ..layers.memory import GraphRows, GRUMemory, stepping
from ..layers.recording import first_tensor


class ModelStep(nn.Module):
    """An input [B, ...] and states [B, S] give the output [B, ...] and the states after the step."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.model, self._machine = machine.model, [machine]
        self.grus = nn.ModuleList(each.layer[0] for each in machine.memories if isinstance(each, GRUMemory))

    def forward(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        (machine,) = self._machine
        rows = _Rows({each.offset: state[:, each.offset : each.offset + each.size] for each in machine.memories})
        with stepping(rows):
            output = first_tensor(self.model(input.unsqueeze(machine.time))).select(machine.time, 0)
        return output, torch.cat([rows.written[each.offset] for each in machine.memories], 1)


class _Rows(GraphRows):
    """States of a graph in which a GRU is called with its state."""

    def step(self, memory: GRUMemory, input: Tensor) -> tuple[Tensor, Tensor]:
        layer: Any = memory.layer[0]
        turned = getattr(layer, "batch_first_states", False)
        h_0 = self.states[memory.offset].reshape(-1, memory.num_layers, memory.hidden_size)
        output, h_n = layer(input, h_0 if turned else h_0.transpose(0, 1).contiguous())
        after = h_n if turned else h_n.transpose(0, 1)
        self.write(memory.offset, memory.size, after.reshape(-1, memory.size))
        return output, after.transpose(0, 1)
