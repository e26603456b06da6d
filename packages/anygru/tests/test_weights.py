"""Counts, slices and names of weights against torch.nn.GRU's own, and layers that share given weights."""

import pytest
import torch

import anygru
from anygru.errors import ArgumentError, ArgumentTypeError
from anygru.facts.weights import Layout, Weights
from anygru.functional import gru


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 3])
def test_layout_is_that_of_torch(layers: int, bidirectional: bool, bias: bool) -> None:
    theirs = torch.nn.GRU(3, 4, layers, bias, bidirectional=bidirectional)
    weights = Weights.of(theirs._flat_weights, bidirectional, bias)
    assert weights.layout == Layout(layers, bidirectional, bias)
    assert weights.layout.names() == theirs._flat_weights_names
    assert weights.layout.shapes(3, 4) == [tuple(weight.shape) for weight in theirs._flat_weights]
    assert (weights.input_size, weights.hidden_size) == (3, 4)
    places = [(layer, direction) for layer in range(layers) for direction in range(1 + bidirectional)]
    for expected, (layer, direction) in zip(theirs.all_weights, places, strict=True):
        found = weights.tensors[weights.layout.of_direction(layer, direction)]
        assert all(one is other for one, other in zip(found, expected, strict=True))
    assert weights.layout.states() == layers * (1 + bidirectional)


def test_wrong_weights_are_refused() -> None:
    w_ih, w_hh = torch.zeros(12, 3), torch.zeros(12, 4)
    with pytest.raises(ArgumentError, match=r"4 tensors a layer \(bias=True, bidirectional=False\), got 2"):
        Weights.of([w_ih, w_hh])
    with pytest.raises(ArgumentError, match="got 0 tensors"):
        Weights.of([])
    with pytest.raises(ArgumentError, match=r"weights\[0\] \(weight_ih of layer 0\) must be \[3\*H, I\], got \[12\]"):
        Weights.of([w_ih[:, 0], w_hh], bias=False)
    with pytest.raises(
        ArgumentError, match=r"weights\[2\] \(bias_ih of layer 0\) must be \[3\*H\] = \[12\], got \[3\]"
    ):
        Weights.of([w_ih, w_hh, torch.zeros(3), torch.zeros(12)])
    with pytest.raises(ArgumentTypeError, match=r"weights\[1\] must be torch.float32"):
        Weights.of([w_ih, w_hh.double()], bias=False)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_layer_around_weights_shares_them(bidirectional: bool) -> None:
    theirs = torch.nn.GRU(3, 4, 2, bidirectional=bidirectional, batch_first=True)
    ours = anygru.GRU.around(Weights.of(theirs._flat_weights, bidirectional), batch_first=True)
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(ours(x), theirs(x))
    ours(x)[0].sum().backward()
    for name, parameter in theirs.named_parameters():
        assert getattr(ours, name) is parameter
        assert parameter.grad is not None
    assert list(ours.state_dict()) == list(theirs.state_dict())


def test_a_layer_around_plain_tensors_shares_their_memory() -> None:
    tensors = [torch.randn(12, 3, dtype=torch.float64), torch.randn(12, 4, dtype=torch.float64, requires_grad=True)]
    layer = anygru.GRU.around(Weights.of(tensors, bias=False), reset="before")
    assert (layer.reset, layer.bias) == ("before", False)
    assert [parameter.requires_grad for parameter in layer.parameters()] == [False, True]
    with torch.no_grad():
        layer.weight_ih_l0.zero_()
    assert not tensors[0].any()


def test_a_cell_around_weights_shares_them() -> None:
    theirs = torch.nn.GRUCell(3, 4)
    weights = Weights.of([theirs.weight_ih, theirs.weight_hh, theirs.bias_ih, theirs.bias_hh])
    ours = anygru.GRUCell.around(weights)
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    torch.testing.assert_close(ours(x, h), theirs(x, h))
    assert ours.weight_ih is theirs.weight_ih
    without = anygru.GRUCell.around(Weights.of([theirs.weight_ih, theirs.weight_hh], bias=False))
    assert without.bias_ih is None
    with pytest.raises(ArgumentError, match="one layer and one direction, got 2 and 1"):
        anygru.GRUCell.around(Weights.of(torch.nn.GRU(4, 4, 2)._flat_weights))


def test_a_layer_has_no_reversed_direction() -> None:
    with pytest.raises(ArgumentError, match="reversed direction"):
        anygru.GRU.around(Weights.of(torch.nn.GRU(3, 4)._flat_weights, reverse=True))


def test_weights_of_a_layer() -> None:
    layer = anygru.GRU(3, 4, 2, bidirectional=True)
    assert list(layer.weights.named()) == [name for name, _ in layer.named_parameters()]
    x = torch.randn(5, 2, 3)
    assert torch.equal(gru(x, None, layer.weights.tensors, bidirectional=True)[0], layer(x)[0])
