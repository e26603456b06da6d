"""torch.jit.trace and the legacy ONNX exporter record operations of torch, and never memory that was not written."""

import io
import warnings
from collections.abc import Callable

import pytest
import torch
from helpers import all_close, close
from torch.nn.utils.rnn import pack_sequence

import anygru
from anygru.errors import ArgumentError, BackendError

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit.trace:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit.save:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit.load:DeprecationWarning"),
]


def recorded(module: torch.nn.Module, *inputs: torch.Tensor) -> Callable[..., object]:
    """The traced module, after a way through a file."""
    with torch.no_grad():
        traced = torch.jit.trace(module.eval(), inputs)
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True, "bias": False}], ids=str
)
def test_a_traced_layer(options: dict, reset: str) -> None:
    layer = anygru.GRU(3, 4, **options, reset=reset)
    x = torch.randn(5, 2, 3)
    traced = recorded(layer, x)
    for own in (x, torch.randn(5, 2, 3)):
        all_close(traced(own), layer(own))


def test_a_traced_layer_takes_other_sizes() -> None:
    """As torch's own; reset="before" is recorded step by step, for any batch and one length."""
    after, before = anygru.GRU(3, 4), anygru.GRU(3, 4, reset="before")
    x = torch.randn(7, 6, 3)
    close(recorded(after, torch.randn(5, 2, 3))(x)[0], after(x)[0])
    traced = recorded(before, torch.randn(5, 2, 3))
    close(traced(x[:5])[0], before(x[:5])[0])
    with pytest.raises(RuntimeError):
        traced(x)


@pytest.mark.parametrize("reset", ["after", "before"])
def test_a_traced_layer_with_a_state(reset: str) -> None:
    layer = anygru.GRU(3, 4, reset=reset)
    x, h_0 = torch.randn(5, 2, 3), torch.randn(1, 2, 4)
    traced = recorded(layer, x, h_0)
    other = torch.randn(1, 2, 4)
    close(traced(x, other)[0], layer(x, other)[0])


@pytest.mark.parametrize("reset", ["after", "before"])
def test_a_traced_cell(reset: str) -> None:
    cell = anygru.GRUCell(3, 4, reset=reset)
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    traced = recorded(cell, x, h)
    x, h = torch.randn(6, 3), torch.randn(6, 4)
    close(traced(x, h), cell(x, h))


def test_training_a_traced_layer() -> None:
    layer = anygru.GRU(3, 4)
    traced = torch.jit.trace(layer, torch.randn(5, 2, 3))
    x = torch.randn(5, 2, 3)
    found = torch.autograd.grad(traced(x)[0].square().sum(), layer.weight_ih_l0)[0]
    close(found, torch.autograd.grad(layer(x)[0].square().sum(), layer.weight_ih_l0)[0])


def test_a_packed_sequence() -> None:
    class Model(torch.nn.Module):
        def __init__(self, reset: str) -> None:
            super().__init__()
            self.gru = anygru.GRU(3, 4, reset=reset)

        def forward(self, data: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
            return self.gru(torch.nn.utils.rnn.PackedSequence(data, sizes))[0].data

    model = Model("after")
    packed, other = (pack_sequence([torch.randn(n, 3) for n in lengths]) for lengths in ((4, 2), (5, 5, 1)))
    with torch.no_grad():
        traced = torch.jit.trace(model, (packed.data, packed.batch_sizes))
    close(traced(other.data, other.batch_sizes), model(other.data, other.batch_sizes))
    with pytest.raises(BackendError, match="can record a PackedSequence for reset='after' only"):
        torch.jit.trace(Model("before"), (packed.data, packed.batch_sizes))


def test_what_cannot_be_recorded_is_refused() -> None:
    layer = anygru.GRU(3, 4)
    with pytest.raises(ArgumentError, match="would record the lengths of this batch as constants"):
        torch.jit.trace(lambda x: layer([x[:3, 0], x[:, 1]])[0][1], torch.randn(5, 2, 3))
    stream = layer.stream(2)
    with pytest.raises(ArgumentError, match="a stream keeps its state outside the graph"):
        torch.jit.trace(stream.step, torch.randn(2, 3))
    with pytest.raises(BackendError, match="cannot record a native call"):
        torch.jit.trace(anygru.GRU(3, 4, backend="cpu"), torch.randn(5, 2, 3))


@pytest.mark.parametrize("reset", ["after", "before"])
def test_the_legacy_onnx_exporter(reset: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    layer = anygru.GRU(3, 4, reset=reset).eval()
    x, file = torch.randn(5, 2, 3), io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(layer, (x,), file, dynamo=False, input_names=["x"])
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    close(torch.from_numpy(session.run(None, {"x": x.numpy()})[0]), layer(x)[0].detach())
