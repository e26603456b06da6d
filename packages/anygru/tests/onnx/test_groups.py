"""Layers with groups, exported: a GRU node for each group, in ONNX Runtime and in ONNX's reference evaluator."""

from typing import Any

import pytest
import torch
from helpers import mostly_slow
from onnx_programs import Wrapped, assert_same, run

import anygru
import anygru.onnx

pytestmark = [pytest.mark.compiles, pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")]
KINDS: dict[str, dict[str, Any]] = {
    "two directions": {"groups": 2, "input_groups": 2, "num_layers": 2, "bidirectional": True, "bias": False},
    "input too": {"groups": 3, "input_groups": 3, "reset": "before"},
    "recurrent": {"groups": 2},
}


@pytest.mark.parametrize("weights", mostly_slow([None, "int8"]))
@pytest.mark.parametrize("name", mostly_slow(KINDS))
def test_one_node_for_each_group(name: str, weights: str | None) -> None:
    torch.manual_seed(0)
    layer: Any = anygru.GRU(6, 12, **KINDS[name])
    layer = layer if weights is None else layer.freeze(weights)
    steps = torch.export.Dim("steps", min=2)
    program = anygru.onnx.export(Wrapped(layer), (torch.randn(5, 3, 6),), dynamic_shapes=(({0: steps},),))
    nodes = [node for node in program.model_proto.graph.node if node.op_type == "GRU"]
    assert len(nodes) == layer.groups * layer.num_layers
    x = torch.randn(8, 3, 6)
    with torch.no_grad():
        assert_same(run(program, x), layer(x), atol=1e-4 if weights else 1e-5)


@pytest.mark.parametrize("sequence_lens", mostly_slow([True, False]))
@pytest.mark.parametrize("name", mostly_slow(KINDS))
def test_lengths(name: str, sequence_lens: bool) -> None:
    torch.manual_seed(0)
    layer = anygru.GRU(6, 12, **KINDS[name])
    states = layer.num_layers * (1 + layer.bidirectional)
    inputs = (torch.randn(5, 3, 6), torch.randn(states, 3, 12), torch.tensor([2, 5, 1]))
    program = anygru.onnx.export(Wrapped(layer), inputs, sequence_lens=sequence_lens)
    with torch.no_grad():
        assert_same(run(program, *inputs), layer(*inputs))


@pytest.mark.parametrize(
    "options", [{"groups": 3, "input_groups": 3}, {"batch_first": True, "batch_first_states": True}], ids=str
)
def test_a_step_of_a_stream(options: dict[str, Any]) -> None:
    layer: Any = anygru.GRU(6, 12, 2, **options)
    x, state, batch_first = torch.randn(3, 6), torch.randn(2, 3, 12), "batch_first" in options
    found = run(anygru.onnx.export_step(layer), x, state)
    with torch.no_grad():
        expected, h_n = layer(x.unsqueeze(int(batch_first)), state.transpose(0, 1) if batch_first else state)
    assert_same(found, (expected.squeeze(int(batch_first)), h_n.transpose(0, 1) if batch_first else h_n))
