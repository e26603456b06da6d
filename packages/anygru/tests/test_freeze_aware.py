"""Layers that are trained with the weights that a frozen layer will hold."""

import copy
from typing import Any

import pytest
import torch
from helpers import all_close, close
from torch import nn

import anygru
from anygru.backends.native_module import native


@pytest.mark.parametrize("weights", ["int8", "bfloat16"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: anygru.GRU(5, 8, 2, bidirectional=True),
        lambda: anygru.GRU(5, 8, reset="before", bias=False),
        lambda: anygru.GRU(6, 12, groups=3, input_groups=3),
        lambda: anygru.GRUCell(5, 8),
        lambda: nn.GRU(5, 8, 2, batch_first=True),
        lambda: nn.GRUCell(5, 8),
    ],
)
def test_freezing_stores_the_weights_that_were_trained(make: Any, weights: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(make())
    assert len(anygru.freeze_aware(model, weights).changed) == 1
    layer: Any = model[0]
    assert f"freezes_to={weights!r}" in repr(layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    x = torch.randn(7, 3, layer.input_size) if isinstance(layer, anygru.GRU) else torch.randn(3, layer.input_size)
    for _ in range(3):
        optimizer.zero_grad()
        found = layer(x)
        (found if isinstance(found, torch.Tensor) else found[0]).pow(2).sum().backward()
        optimizer.step()
    exact = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        trained = layer(x)
        seen = dict(zip(layer._weight_names, layer._current(layer._weight_names), strict=True))
    report = anygru.freeze(model, weights)
    assert len(report.changed) == 1, report
    frozen: Any = model[0]
    for name, value in zip(layer._weight_names, frozen.frozen_weights.dequantized(), strict=True):
        assert torch.equal(value, seen[name])
        rounded = not torch.equal(value, exact[f"0.{name}"])
        assert rounded == name.startswith("weight")
    with torch.no_grad():
        computed = frozen(x)
    pairs = [(computed, trained)] if isinstance(trained, torch.Tensor) else zip(computed, trained, strict=True)
    for one, other in pairs:
        # bfloat16: the same bits, except for tiles, which add in another order; int8 rounds rows of inputs and states to 16 bits,
        # which training does not.
        exact_to = 2e-5 if native.isa() in ("amx", "tiles") else 0
        torch.testing.assert_close(one, other, rtol=0, atol=exact_to if weights == "bfloat16" else 1e-4)


def test_gradients_are_those_of_the_rounded_weights() -> None:
    torch.manual_seed(0)
    layer = anygru.GRU(4, 6, dtype=torch.float64)
    layer.freezes_to = "int8"
    x = torch.randn(5, 2, 4, dtype=torch.float64)
    found = torch.autograd.grad(layer(x)[0].sum(), list(layer.parameters()))
    plain = anygru.GRU.around(layer.weights)
    for one, other in zip(found, torch.autograd.grad(plain(x)[0].sum(), list(plain.parameters())), strict=True):
        assert torch.equal(one, other)
    for name, weight in zip(layer._weight_names, layer.flat_weights, strict=True):
        exact = layer.get_parameter(name)
        if name.startswith("weight"):
            steps = weight.abs().amax(1, keepdim=True) / 127
            assert (weight - exact).abs().max() <= steps.max() / 2 * (1 + 1e-9)
            close(torch.round(weight / steps), weight / steps)


def test_streams_copies_and_the_end_of_it() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(anygru.GRU(4, 6))
    anygru.freeze_aware(model)
    layer: Any = copy.deepcopy(model)[0]
    x = torch.randn(5, 4)
    with torch.no_grad():
        expected = layer(x)[0]
    close(layer.stream().run(x), expected)
    with pytest.raises(anygru.ArgumentError, match="trained for 'int8'"):
        layer.freeze()
    anygru.freeze_aware(model, "float32")
    assert model[0].freezes_to is None
    with pytest.raises(anygru.ArgumentError, match="weights must be one of"):
        layer.freezes_to = "int4"
    model.append(anygru.GRU(6, 6, norm="layer"))
    report = anygru.freeze_aware(model)
    assert list(report.changed) == ["0"]
    assert "layer norm" in report.unchanged["1"]


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
@pytest.mark.compiles
def test_compiled() -> None:
    layer = anygru.GRU(3, 5)
    layer.freezes_to = "int8"
    x = torch.randn(4, 2, 3)
    expected = torch.autograd.grad(layer(x)[0].sum(), list(layer.parameters()))
    found = torch.autograd.grad(torch.compile(layer, fullgraph=True)(x)[0].sum(), list(layer.parameters()))
    all_close(found, expected)
