"""Shared by the tests of ONNX: a layer inside a model, and programs in ONNX Runtime."""

import io
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch


class Wrapped(torch.nn.Module):
    """A layer inside a model, under a name."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.encoder = layer
        self.eval()

    def forward(self, *inputs: Any) -> Any:
        return self.encoder(*inputs)


def session(program: Any) -> onnxruntime.InferenceSession:
    file = io.BytesIO()
    onnx.checker.check_model(program.model_proto, full_check=True)
    onnx.save(program.model_proto, file)
    return onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])


def run(program: Any, *inputs: torch.Tensor) -> list[np.ndarray]:
    found = session(program)
    return found.run(None, {given.name: value.numpy() for given, value in zip(found.get_inputs(), inputs, strict=True)})


def assert_same(found: Any, expected: Any, atol: float = 1e-5) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == tuple(other.shape)
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=0, atol=atol)
