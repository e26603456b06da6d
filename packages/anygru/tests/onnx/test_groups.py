"""Layers with groups, exported: a GRU node for each group, in ONNX Runtime and in ONNX's reference evaluator."""

import io
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from helpers import mostly_slow

import anygru
import anygru.onnx

pytestmark = [pytest.mark.compiles, pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")]
KINDS: dict[str, dict[str, Any]] = {
    "two directions": {"groups": 2, "input_groups": 2, "num_layers": 2, "bidirectional": True, "bias": False},
    "input too": {"groups": 3, "input_groups": 3, "reset": "before"},
    "recurrent": {"groups": 2},
}


class Wrapped(torch.nn.Module):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.encoder = layer
        self.eval()

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.encoder(*inputs)


def run(program: Any, *inputs: torch.Tensor) -> list[np.ndarray]:
    file = io.BytesIO()
    onnx.checker.check_model(program.model_proto, full_check=True)
    onnx.save(program.model_proto, file)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    return session.run(
        None, {given.name: value.numpy() for given, value in zip(session.get_inputs(), inputs, strict=True)}
    )


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
        for found, wanted in zip(run(program, x), layer(x), strict=True):
            np.testing.assert_allclose(found, wanted.numpy(), rtol=0, atol=1e-4 if weights else 1e-5)


@pytest.mark.parametrize("sequence_lens", mostly_slow([True, False]))
@pytest.mark.parametrize("name", mostly_slow(KINDS))
def test_lengths(name: str, sequence_lens: bool) -> None:
    torch.manual_seed(0)
    layer = anygru.GRU(6, 12, **KINDS[name])
    states = layer.num_layers * (1 + layer.bidirectional)
    inputs = (torch.randn(5, 3, 6), torch.randn(states, 3, 12), torch.tensor([2, 5, 1]))
    program = anygru.onnx.export(Wrapped(layer), inputs, sequence_lens=sequence_lens)
    with torch.no_grad():
        for found, wanted in zip(run(program, *inputs), layer(*inputs), strict=True):
            np.testing.assert_allclose(found, wanted.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"groups": 3, "input_groups": 3}, {"batch_first": True, "batch_first_states": True}], ids=str
)
def test_a_step_of_a_stream(options: dict[str, Any]) -> None:
    layer: Any = anygru.GRU(6, 12, 2, **options)
    x, state, batch_first = torch.randn(3, 6), torch.randn(2, 3, 12), "batch_first" in options
    output, new_state = run(anygru.onnx.export_step(layer), x, state)
    with torch.no_grad():
        expected, h_n = layer(x.unsqueeze(int(batch_first)), state.transpose(0, 1) if batch_first else state)
    np.testing.assert_allclose(output, expected.squeeze(int(batch_first)).numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(new_state, (h_n.transpose(0, 1) if batch_first else h_n).numpy(), rtol=0, atol=1e-5)
