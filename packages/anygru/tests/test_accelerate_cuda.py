"""`accelerate` on CUDA, without a GPU: torch's call is unchanged. Tensors of the CPU report CUDA as their device."""

import operator
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from backends import cudnn_stand_in
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

import anygru
from anygru import functional
from anygru.patching import compiling, rerouting


class OnCuda(Tensor):
    """Results computed from it report the same device."""

    is_cuda = True


def on_cuda(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(OnCuda)


@pytest.fixture
def theirs() -> Iterator[list[tuple[Any, ...]]]:
    """The calls that reach torch's kernels; anygru's code may compute nothing."""
    found: list[tuple[Any, ...]] = []

    def refuse(*call: Any, **options: Any) -> None:
        raise AssertionError("anygru stands between")

    def gru(*call: Any) -> tuple[Tensor, Tensor]:
        found.append(call)
        return computed(*call)

    def gru_cell(*call: Any) -> Tensor:
        found.append(call)
        return torch.gru_cell(*call)

    computed = cudnn_stand_in.gru
    with cudnn_stand_in.installed(), pytest.MonkeyPatch.context() as patch:
        for name in ("gru", "gru_cell", "direct_cell"):
            patch.setattr(functional, name, refuse)
        patch.setattr(cudnn_stand_in, "gru", gru)
        patch.setattr(torch._VF, "gru_cell", gru_cell, raising=False)
        yield found


def in_one_buffer(layer: nn.GRU) -> nn.GRU:
    """As torch puts the weights of a layer on CUDA."""
    weights = list(layer.parameters())
    buffer = torch.cat([weight.detach().flatten() for weight in weights])
    for weight, part in zip(weights, buffer.split([weight.numel() for weight in weights]), strict=True):
        weight.data = part.view(weight.shape)
    return layer


def names_of(node: Any) -> list[str]:
    """Of a node of autograd and all below it."""
    below = [names_of(one) for one, _ in node.next_functions if one is not None]
    return [node.name(), *(name for names in below for name in names)]


FORMS = {
    "dense": lambda: torch.randn(5, 2, 3),
    "one sequence": lambda: torch.randn(5, 3),
    "packed": lambda: pack_sequence([torch.randn(5, 3), torch.randn(2, 3)]),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_torch_gets_the_call_as_without_anygru(form: str, training: bool, theirs: list[Any]) -> None:
    layer, input = in_one_buffer(nn.GRU(3, 4, 2, dropout=0.0)).train(training), FORMS[form]()
    input = input._replace(data=on_cuda(input.data)) if form == "packed" else on_cuda(input)
    found, grads, nodes = [], [], []
    for accelerated in (False, True):
        if accelerated:
            anygru.accelerate(layer)
        with torch.set_grad_enabled(training):
            output, _ = layer(input)
        output = output.data if form == "packed" else output
        found.append(output)
        if training:
            nodes.append(names_of(output.grad_fn))
            grads.append(torch.autograd.grad(output.sum(), list(layer.parameters())))
    plain, ours = theirs
    for one, other in zip(plain, ours, strict=True):
        if isinstance(one, list):
            assert all(map(operator.is_, one, other))
        elif isinstance(one, Tensor):
            assert torch.equal(one, other)
        else:
            assert one == other
    assert torch.equal(*found)
    if training:
        assert all(map(torch.equal, *grads))
        assert nodes[0] == nodes[1]
        assert nodes[1].count("CudnnRnnBackward0") == 1


def test_nothing_of_ours_stands_between(theirs: list[Any]) -> None:
    """Two lookups before the call; no value of a tensor is read."""
    layer, input = in_one_buffer(nn.GRU(3, 4)), on_cuda(torch.randn(5, 2, 3))
    anygru.accelerate(layer)
    cell = nn.GRUCell(3, 4)
    anygru.accelerate(cell)
    found: list[str] = []

    def note(frame: Any, event: str, function: Any) -> None:
        if event == "call" and "anygru/src" in frame.f_code.co_filename:
            found.append(frame.f_code.co_name)

    for module, given, name in ((layer, input, "_gru"), (cell, on_cuda(torch.randn(2, 3)), "_gru_cell")):
        found.clear()
        sys.setprofile(note)
        try:
            module(given)
        finally:
            sys.setprofile(None)
        assert found == ["__get__", "_is_accelerated", name, "_stays_on_cuda"]
    assert len(theirs) == 2


def test_weights_that_do_not_share_a_buffer_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(rerouting, "_PLAIN", (*rerouting._PLAIN, OnCuda))
    monkeypatch.setattr(functional, "gru", lambda *call, **options: seen.append("ours") or (call[0], call[1]))
    monkeypatch.setattr(torch._VF, "gru", lambda *call: seen.append("torch") or (call[0], call[1]), raising=False)
    layer, input = nn.GRU(3, 4, 2), on_cuda(torch.randn(5, 2, 3))
    with anygru.accelerate(layer):
        layer(input)
        in_one_buffer(layer)(input)
        nn.utils.parametrizations.weight_norm(layer, "weight_hh_l0")(input)  # one of them is computed
        nn.utils.parametrize.remove_parametrizations(layer, "weight_hh_l0")
        in_one_buffer(layer)(input)
    assert seen == ["ours", "torch", "ours", "torch"]


def test_what_torchs_node_refuses_is_ours(theirs: list[Any]) -> None:
    """One gradient by torch.func is torch's; with vmap or forward mode its node raises."""
    asked: list[bool] = []

    def ask(one: Tensor) -> Tensor:
        asked.append(rerouting._stays_on_cuda())
        return one.sum()

    one = torch.randn(3)
    torch.func.grad(ask)(one)
    torch.func.vmap(ask)(one[None])
    torch.func.grad(torch.func.grad(ask))(one[0])
    torch.func.vmap(torch.func.grad(ask))(one[None])
    torch.func.jvp(ask, (one,), (one,))
    ask(one)
    assert asked == [True, False, False, False, False, True]


def test_the_compiler_looks_into_layers_on_the_cpu_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """On CUDA the graph breaks at the layer, as torch's own does, and torch's kernel computes."""
    seen: list[Any] = []
    monkeypatch.setattr(compiling, "install", seen.append)
    layer = nn.GRU(3, 4)
    with anygru.accelerate(layer) as report:
        (looks_into,) = seen
        assert looks_into(layer)
        assert "CUDA" not in str(report)
        monkeypatch.setattr(layer, "parameters", lambda: iter([on_cuda(torch.zeros(3))]))
        assert not looks_into(layer)
        assert str(report).endswith("on CUDA torch's own kernel computes, as before")
