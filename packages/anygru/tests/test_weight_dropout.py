"""DropConnect on the recurrent weights: the layer equals a layer with weights that were dropped before the call."""

import pytest
import torch
import torch.nn.functional as F
from helpers import Case, all_close, close, numpy_gru
from torch import Tensor

import anygru
from anygru.errors import ArgumentError
from anygru.functional import gru

LAYER = {"num_layers": 2, "bidirectional": True, "dtype": torch.float64}


def dropped(layer: anygru.GRU) -> list[Tensor]:
    """The weights of a call, drawn as torch draws them, in their order."""
    named = layer.weights.named().items()
    return [F.dropout(w, layer.weight_dropout) if "weight_hh" in name else w for name, w in named]


@pytest.mark.parametrize("reset", ["after", "before"])
def test_against_numpy_and_gradients(reset: str) -> None:
    case = Case(T=5, B=3, I=4, H=6, L=2, bidirectional=True, reset=reset)
    layer = anygru.GRU(4, 6, reset=reset, weight_dropout=0.4, **LAYER)
    x, h_0 = case.input(), case.h_0()
    torch.manual_seed(1)
    weights = dropped(layer)
    assert 0.2 < (weights[1] == 0).double().mean() < 0.6
    expected = numpy_gru(case, x.detach().numpy(), h_0.detach().numpy(), [w.detach().numpy() for w in weights])
    torch.manual_seed(1)
    found = layer(x, h_0)
    for one, other in zip(found, expected, strict=True):
        close(one, torch.as_tensor(other))
    wanted = [x, h_0, *layer.parameters()]
    grads = torch.autograd.grad(found[0].square().sum(), wanted)
    truth, _ = gru(x, h_0, weights, bidirectional=True, reset=reset, backend="reference")
    all_close(grads, torch.autograd.grad(truth.square().sum(), wanted))


def test_finite_differences() -> None:
    layer = anygru.GRU(2, 3, weight_dropout=0.5, dtype=torch.float64)
    names = [name for name, _ in layer.named_parameters()]

    def compute(x: Tensor, *weights: Tensor) -> Tensor:
        torch.manual_seed(3)
        return torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), (x,))[0]

    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(compute, [x, *layer.parameters()])
    assert torch.autograd.gradgradcheck(compute, [x, *layer.parameters()])


def test_one_mask_for_all_steps_and_another_for_each_call() -> None:
    layer = anygru.GRU(3, 4, weight_dropout=0.5)
    x = torch.randn(6, 2, 3)
    torch.manual_seed(0)
    whole, h_n = layer(x)
    torch.manual_seed(0)
    first, h = layer(x[:3])
    assert torch.equal(first, whole[:3])
    assert not torch.equal(layer(x[3:], h)[0], whole[3:]), "a chunk is a call, and draws again"
    torch.manual_seed(0)
    ragged, _ = layer([x[:, 0], x[:4, 1]])
    close(ragged[0], whole[:, 0])


def test_inference_reads_all_weights_and_parameters_never_change() -> None:
    layer, plain = anygru.GRU(3, 4, 2, weight_dropout=0.5), anygru.GRU(3, 4, 2)
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(5, 2, 3)
    layer(x)[0].sum().backward()
    assert all(torch.equal(one, other) for one, other in zip(layer.parameters(), plain.parameters(), strict=True))
    expected = plain(x)[0]
    assert torch.equal(layer.stream(2).run(x), expected)
    assert torch.equal(layer.freeze()(x)[0], expected)
    assert torch.equal(layer.eval()(x)[0], expected)
    assert repr(layer) == "GRU(3, 4, num_layers=2, weight_dropout=0.5)"


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
@pytest.mark.compiles
def test_compiled_draws_a_mask_for_each_call() -> None:
    layer, x = anygru.GRU(3, 4, weight_dropout=0.5), torch.randn(5, 2, 3)
    compiled = torch.compile(lambda x: layer(x)[0], fullgraph=True, backend="aot_eager")
    torch.manual_seed(0)
    first = compiled(x)
    assert not torch.equal(compiled(x), first)
    torch.manual_seed(0)
    close(first, layer(x)[0])


def test_bad_probabilities() -> None:
    with pytest.raises(ArgumentError, match=r"weight_dropout must be a probability between 0 and 1, got 1\.5"):
        anygru.GRU(3, 4, weight_dropout=1.5)
    layer = anygru.GRU(3, 4)
    with pytest.raises(ArgumentError, match="weight_dropout must be a probability"):
        layer.weight_dropout = -1.0
