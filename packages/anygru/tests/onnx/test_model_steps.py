"""Whole models as streams: each step in ONNX Runtime, compared with the model on the whole sequence."""

from pathlib import Path

import pytest
import torch
from dual_path import Frames, denoiser
from torch import nn

import anygru.onnx

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")


def steps_of(path: Path, input: torch.Tensor, axis: int) -> torch.Tensor:
    """The outputs of ONNX Runtime for one sequence, step by step."""
    session = onnxruntime.InferenceSession(path)
    state = torch.zeros([size if isinstance(size, int) else 1 for size in session.get_inputs()[1].shape]).numpy()
    found = []
    for step in input.unbind(axis):
        output, state = session.run(["output", "new_state"], {"input": step.numpy(), "state": state})
        found.append(torch.tensor(output))
    return torch.stack(found, axis)


class Tagger(nn.Module):
    """A causal convolution, a GRU of each kind, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = anygru.layers.CausalConv1d(6, 8, 3)
        self.first = nn.GRU(8, 8, 2, batch_first=True)
        self.second = anygru.GRU(8, 4, batch_first=True)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.second(self.first(self.conv(x.transpose(1, 2)).transpose(1, 2))[0])[0])


@pytest.mark.parametrize("kind", ["torch", "model", pytest.param("dual path", marks=pytest.mark.slow)])
def test_a_step_of_a_model_is_a_file(kind: str, tmp_path: Path) -> None:
    path, axis, input = tmp_path / "step.onnx", 1, torch.randn(1, 20, 6)
    model: nn.Module = {"torch": lambda: nn.GRU(6, 8, batch_first=True), "model": Tagger, "dual path": denoiser}[kind]()
    model.eval()
    if kind == "dual path":
        axis, input = 2, torch.randn(1, 17, 20, 2)
        anygru.onnx.export_step(model, path, example=input, time_axis=axis)
    else:
        anygru.onnx.export_step(model, path, example=input)
    with torch.no_grad():
        expected = model(input)
    expected = expected[0] if isinstance(expected, tuple) else expected
    torch.testing.assert_close(steps_of(path, input, axis), expected, atol=1e-5, rtol=1e-5)


def test_an_export_of_steps_keeps_the_mode_of_each_module():
    layer = torch.nn.utils.parametrizations.weight_norm(anygru.GRU(3, 4), "weight_hh_l0")
    layer.parametrizations.eval()
    for model, example in ((Frames(), torch.randn(2, 9, 5, 3)), (layer, None)):
        modes = [module.training for module in model.modules()]
        anygru.onnx.export_step(model, example=example)
        assert [module.training for module in model.modules()] == modes
