"""A user's program, for `mypy --strict` and pyright: see test_types.py."""

from typing import assert_type

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence

import anygru
from anygru import functional

layer = anygru.GRU(3, 4, num_layers=2, reset="before")
dense = torch.randn(5, 2, 3)

output, h_n = layer(dense)
assert_type(output, Tensor)
assert_type(h_n, Tensor)
assert_type(layer(dense[:, 0])[0], Tensor)
assert_type(layer(dense, torch.zeros(2, 2, 4))[0], Tensor)
assert_type(layer(dense, lengths=[5, 3])[0], Tensor)
assert_type(layer(dense, resets=torch.zeros(5, 2, dtype=torch.bool))[0], Tensor)

assert_type(layer.forward(dense)[0], Tensor)
assert_type(layer.forward([dense[:, 0]])[0], list[Tensor])

grouped = anygru.GRU(4, 8, groups=4, input_groups=2 * 2, gradient_clipping=1.0, batch_first_states=True)
assert_type(grouped(torch.randn(5, 2, 4))[0], Tensor)
assert_type(grouped.ungrouped(), anygru.GRU)
assert_type(anygru.GRUCell(4, 8, groups=2).ungrouped(), anygru.GRUCell)
assert_type(functional.gru(dense, None, layer.flat_weights, groups=1, batch_first_states=True)[0], Tensor)
assert_type(anygru.freeze_aware(torch.nn.Sequential(layer), "int8").changed, dict[str, str])

outputs, h_n = layer([torch.randn(5, 3), torch.randn(2, 3)])
assert_type(outputs, list[Tensor])
assert_type(layer((torch.randn(5, 3), torch.randn(2, 3)))[0], tuple[Tensor, ...])

packed, h_n = layer(pack_sequence([torch.randn(5, 3), torch.randn(2, 3)]))
assert_type(packed, PackedSequence)
assert_type(h_n, Tensor)

assert_type(layer(dense, return_states=True), tuple[Tensor, Tensor, Tensor])
assert_type(layer.weight_ih_l0, Tensor)
assert_type(layer.weight_hh_l1, Tensor)
assert_type(layer.weight_ih_l0.grad, Tensor | None)

cell = anygru.GRUCell(3, 4)
assert_type(cell(dense[0]), Tensor)
assert_type(cell(dense[0], torch.zeros(2, 4)), Tensor)
weight: Tensor = cell.weight_ih

plain = anygru.GRU(3, 4)
assert_type(functional.gru(dense, None, plain.flat_weights)[0], Tensor)
assert_type(functional.gru(dense, None, plain.flat_weights, lengths=[5, 3], reset="after")[0], Tensor)
assert_type(functional.gru([dense[:, 0]], None, plain.flat_weights)[0], list[Tensor])
assert_type(functional.gru(packed, None, plain.flat_weights)[0], PackedSequence)
assert_type(functional.gru_cell(dense[0], None, *plain.flat_weights), Tensor)

frozen = plain.freeze(weights="int8")
assert_type(frozen(dense)[0], Tensor)
assert_type(frozen.forward([dense[:, 0]])[0], list[Tensor])
assert_type(cell.freeze("bfloat16")(dense[0]), Tensor)

stream = plain.stream(2)
assert_type(stream.step(dense[0]), Tensor)
assert_type(stream.state, Tensor)
