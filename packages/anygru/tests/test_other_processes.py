"""Layers in processes that torch starts: workers of a DataLoader and torch.multiprocessing, by spawn as on macOS and Windows."""

import copy
import io
import pickle
import sys
from typing import Any

import pytest
import torch
import torch.multiprocessing
from torch import Tensor, nn

import anygru

LAYERS = {
    "plain": lambda: anygru.GRU(3, 4, 2, bidirectional=True, reset="before"),
    "cell": lambda: anygru.GRUCell(3, 4),
    "accelerated": lambda: _changed(anygru.accelerate, nn.GRU(3, 4)),
    "frozen model": lambda: _changed(anygru.freeze, nn.GRU(3, 4)),
    "frozen cell": lambda: anygru.GRUCell(3, 4).freeze("int8"),
    "frozen float32": lambda: anygru.GRU(3, 4, 2, bidirectional=True).freeze(),
    "frozen bfloat16": lambda: anygru.GRU(3, 4, 2, bias=False).freeze("bfloat16"),
    "frozen int8": lambda: anygru.GRU(3, 4, groups=2, reset="before").freeze("int8"),
    "frozen, not packed": lambda: anygru.GRU(3, 4, backend="reference").freeze("int8"),
    "stream": lambda: _Stepped(anygru.GRU(3, 4).stream()),
    "stream of a frozen layer": lambda: _Stepped(anygru.GRU(3, 4).freeze("bfloat16").stream()),
    "stepper": lambda: _Stepped(anygru.stepper(nn.Sequential(nn.GRU(3, 4)), batch_size=5)),
}
INPUT = torch.linspace(-1, 1, 15).view(5, 3)


def _changed(change: Any, layer: nn.Module) -> nn.Module:
    model = nn.Sequential(layer)
    change(model)
    return model


class _Stepped:
    """A stream or a stepper, called as a layer is."""

    def __init__(self, steps: Any) -> None:
        self.steps = steps

    def __call__(self, input: Tensor) -> Tensor:
        self.steps.reset()
        return self.steps.run(input) if hasattr(self.steps, "run") else self.steps.step(input)


def output_of(layer: Any) -> Tensor:
    with torch.no_grad():
        found = layer(INPUT)
    return found if isinstance(found, Tensor) else found[0]


def answer(layers: dict[str, Any], queue: Any) -> None:
    """The program of another process."""
    queue.put({name: output_of(layer).tolist() for name, layer in layers.items()})


class Computed(torch.utils.data.Dataset):
    """A data set that computes with a layer in its workers."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Tensor:
        return output_of(self.layer)


def _saved(layer: Any) -> Any:
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("name", LAYERS)
def test_copies_compute_the_same(name: str) -> None:
    layer = LAYERS[name]()
    expected = output_of(layer)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), _saved(layer)):
        assert torch.equal(output_of(twin), expected)


@pytest.mark.parametrize("method", ["spawn", *(["forkserver"] if sys.platform == "linux" else [])])
def test_a_started_process_computes_the_same(method: str) -> None:
    context = torch.multiprocessing.get_context(method)
    layers = {name: make() for name, make in LAYERS.items()}
    expected = {name: output_of(layer).tolist() for name, layer in layers.items()}
    queue = context.Queue()
    process = context.Process(target=answer, args=(layers, queue))
    process.start()
    try:
        assert queue.get(timeout=120) == expected
    finally:
        process.join()
    assert process.exitcode == 0


def test_a_spawned_worker_of_a_data_loader_has_a_frozen_layer() -> None:
    layer = anygru.GRU(3, 4).freeze("int8")
    for found in torch.utils.data.DataLoader(Computed(layer), num_workers=1, multiprocessing_context="spawn"):
        assert torch.equal(found[0], output_of(layer))
