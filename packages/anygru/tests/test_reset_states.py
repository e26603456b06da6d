"""Resets that go to stored states, and one initial state for all sequences, against a GRU in float64 NumPy."""

from typing import Any

import numpy as np
import pytest
import torch
from helpers import Case, all_close, close, detached, mostly_slow, numpy_sequence
from test_decays import BACKENDS, CASES
from torch import Tensor
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

import anygru
from anygru.facts import torch_private
from anygru.functional import gru


def numpy_reset(case: Case, tensors: list[Tensor], resets: Tensor, stored: Tensor) -> tuple[Tensor, Tensor]:
    """Each step is a separate call; stored: [L*D, T, B, H]."""
    x, h_0, *weights = detached(tensors)
    per, states = (4 if case.bias else 2), stored.numpy()
    output, h_n = np.zeros((case.T, case.B, case.D * case.H)), np.array(h_0)
    for b, length in enumerate(case.lengths or (case.T,) * case.B):
        below = x[:length, b]
        for layer in range(case.L):
            results = []
            for direction in range(case.D):
                k, out = layer * case.D + direction, np.zeros((length, case.H))
                for t in range(length)[:: -1 if direction else 1]:
                    start = states[k, t, b] if resets[t, b] else h_n[k, b]
                    _, h_n[k, b] = numpy_sequence(below[t : t + 1], start, weights[k * per : (k + 1) * per], case.reset)
                    out[t] = h_n[k, b]
                results.append(out)
            below = np.concatenate(results, -1)
        output[:length, b] = below
    return torch.from_numpy(output), torch.from_numpy(h_n)


def make(case: Case) -> tuple[list[Tensor], Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    resets = torch.rand(case.T, case.B, generator=generator) < 0.4
    resets[0, 0] = True
    stored = torch.randn(case.L * case.D, case.T, case.B, case.H, generator=generator, dtype=torch.float64)
    return [case.input(), case.h_0(), *case.weights()], resets, stored


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_against_numpy_and_gradients(name: str, backend: str) -> None:
    case = CASES[name]
    tensors, resets, stored = make(case)
    stored.requires_grad_()
    call = {"resets": resets, "reset_states": stored, **case.options}
    output, h_n = gru(tensors[0], tensors[1], tensors[2:], backend=backend, **call)
    all_close((output, h_n), numpy_reset(case, tensors, resets, stored.detach()))
    single = [tensor.detach().float() for tensor in (*tensors, stored)]
    close(gru(single[0], single[1], single[2:-1], backend=backend, **{**call, "reset_states": single[-1]})[0], output)
    grads = torch.autograd.grad(output.square().sum() + h_n.sin().sum(), [*tensors, stored])
    truth = gru(tensors[0], tensors[1], tensors[2:], backend="reference", **call)
    expected = torch.autograd.grad(truth[0].square().sum() + truth[1].sin().sum(), [*tensors, stored])
    all_close(grads, expected)
    running = torch.arange(case.T).unsqueeze(1) < torch.tensor(case.lengths or (case.T,) * case.B)
    assert not grads[-1][:, ~(resets & running)].any(), "what no reset reads has no gradient"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reset", mostly_slow(["before", "after"]))
@pytest.mark.parametrize("fast", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_finite_differences(fast: bool, reset: str, backend: str) -> None:
    case = Case(T=3, B=2, I=2, H=3, reset=reset)
    resets = torch.tensor([[True, False], [False, True], [True, False]])

    def compute(x: Tensor, h_0: Tensor, stored: Tensor, learned: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        options = {"resets": resets, "reset": reset, "backend": backend}
        decay = torch.linspace(0.2, 0.9, 6, dtype=torch.float64).view(3, 2, 1)
        first = gru(x, learned, weights, reset_states=stored, decay=decay, **options)
        return *first, *gru(x, h_0, weights, reset_states=learned, **options)

    stored = torch.randn(1, 3, 2, 3, dtype=torch.float64).requires_grad_()
    learned = torch.randn(1, 1, 3, dtype=torch.float64).requires_grad_()
    tensors = [case.input(), case.h_0(), stored, learned, *case.weights()]
    assert torch.autograd.gradcheck(compute, tensors, fast_mode=fast)
    assert torch.autograd.gradgradcheck(compute, tensors, fast_mode=fast)


def test_every_form_of_batch() -> None:
    case = Case(T=6, B=3, I=3, H=4, L=2, bidirectional=True, lengths=(3, 6, 2))
    tensors, resets, stored = make(case)
    x, h_0, weights = tensors[0].detach(), tensors[1].detach(), [weight.detach() for weight in tensors[2:]]
    expected, expected_h = gru(x, h_0, weights, resets=resets, reset_states=stored, **case.options)
    lengths = case.lengths or ()

    def parts(values: Tensor, axis: int = 0) -> list[Tensor]:
        each = values.movedim(axis, 0).movedim(axis + 1, 1) if axis else values
        pieces = [each[:length, b] for b, length in enumerate(lengths)]
        return [piece.movedim(0, axis) for piece in pieces] if axis else pieces

    states = [stored[:, :length, b] for b, length in enumerate(lengths)]
    options = {"bidirectional": True}
    found, h_n = gru(parts(x), h_0, weights, resets=parts(resets), reset_states=states, **options)
    for b, (one, length) in enumerate(zip(found, lengths, strict=True)):
        close(one, expected[:length, b])
    close(h_n, expected_h)
    packed_states = pack_sequence([each.movedim(0, 1) for each in states], enforce_sorted=False)
    packed_states = packed_states._replace(data=packed_states.data.movedim(1, 0))
    found, h_n = gru(
        pack_sequence(parts(x), enforce_sorted=False), h_0, weights,
        resets=pack_sequence(parts(resets), enforce_sorted=False), reset_states=packed_states, **options,
    )  # fmt: skip
    for b, (one, length) in enumerate(zip(unpack_sequence(found), lengths, strict=True)):
        close(one, expected[:length, b])
    close(h_n, expected_h)
    turned = {"resets": resets.t(), "reset_states": stored.transpose(1, 2), "lengths": lengths, "batch_first": True}
    found, h_n = gru(x.transpose(0, 1), h_0, weights, **turned, **options)
    close(found.transpose(0, 1), expected)
    close(h_n, expected_h)
    one, h_n = gru(x[:, 1], h_0[:, 1], weights, resets=resets[:, 1], reset_states=stored[:, :, 1], **options)
    close(one, expected[:, 1])
    learned = stored[:, :1, 0]
    whole = learned.unsqueeze(1).expand(-1, case.T, case.B, -1)
    for call in ({}, {"lengths": lengths}):
        one = gru(x, learned, weights, resets=resets, reset_states=learned, **call, **options)
        other = gru(
            x, learned.expand(-1, 3, -1).contiguous(), weights, resets=resets, reset_states=whole, **call, **options
        )
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])
    found, _ = gru(parts(x), learned, weights, resets=parts(resets), reset_states=learned, **options)
    assert torch.equal(found[1], other[0][:, 1])


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.float32, torch.int64])
def test_resets_as_environments_tell_them(kind: torch.dtype) -> None:
    layer, x, resets = anygru.GRU(3, 4), torch.randn(5, 2, 3), torch.rand(5, 2) < 0.4
    assert torch.equal(layer(x, resets=resets.to(kind))[0], layer(x, resets=resets)[0])
    stream, other = layer.stream(2), layer.stream(2)
    assert torch.equal(stream.run(x, resets.to(kind)), other.run(x, resets))
    assert torch.equal(stream.step(x[0], resets[1].to(kind)), other.step(x[0], resets[1]))


@pytest.mark.parametrize("frozen", [None, "float32", "int8"])
def test_streams_and_frozen_layers(frozen: str | None) -> None:
    layer: Any = anygru.GRU(3, 8, 2)
    layer = layer if frozen is None else layer.freeze(frozen)
    x, resets, stored = torch.randn(6, 4, 3), torch.rand(6, 4) < 0.4, torch.randn(2, 6, 4, 8)
    with torch.no_grad():
        expected, h_n = layer(x, resets=resets, reset_states=stored)
        stream = layer.stream(4)
        close(stream.run(x[:4], resets[:4], stored[:, :4]), expected[:4])
        for t in (4, 5):
            close(stream.step(x[t], resets[t], stored[:, t]), expected[t])
        close(stream.state, h_n)
        alone = layer.stream()
        close(alone.run(x[:5, 0], resets[:5, 0], stored[:, :5, 0]), expected[:5, 0])
        close(alone.step(x[5, 0], resets[5, 0], stored[:, 5, 0]), expected[5, 0])
        learned = stored[:, :1, 0]
        assert (
            torch.equal(layer(x, resets=resets, reset_states=learned)[0], layer.stream(4).run(x, resets, learned))
            or frozen is None
        )
    with pytest.raises(ValueError, match="reset_states goes with resets"):
        stream.step(x[0], None, learned)
    with pytest.raises(ValueError, match=r"reset_states must be \[2, 4, 8\] or \[2, 1, 8\], got \[2, 3, 8\]"):
        stream.step(x[0], resets[0], stored[:, 0, :3])


@pytest.mark.compiles
@pytest.mark.skipif(not torch_private.compiles_named_tuples, reason="this torch breaks the graph at the options")
@pytest.mark.parametrize("lengths", mostly_slow([torch.tensor([3, 5, 0, 2]), None]))
def test_compiled_is_one_node(lengths: Tensor | None) -> None:
    layer = anygru.GRU(3, 4, 2)
    x, resets = torch.randn(5, 4, 3), torch.rand(5, 4) < 0.4
    stored, first = torch.randn(2, 5, 4, 4, requires_grad=True), torch.randn(2, 1, 4, requires_grad=True)

    def compute(x: Tensor, stored: Tensor, first: Tensor) -> Tensor:
        return layer(x, first, lengths=lengths, resets=resets, reset_states=stored)[0]

    compiled = torch.compile(compute, fullgraph=True, backend="aot_eager")(x, stored, first)
    expected = compute(x, stored, first)
    close(compiled, expected)
    wanted = [stored, first, *layer.parameters()]
    found = torch.autograd.grad(compiled.square().sum(), wanted)
    all_close(found, torch.autograd.grad(expected.square().sum(), wanted))


def test_explain() -> None:
    layer, x = anygru.GRU(3, 4), torch.randn(5, 2, 3)
    explanation = anygru.explain(layer, x, resets=True, reset_states=True)
    assert explanation.problem.modified == ("decay", "offset")
    assert explanation.backend == "cpu"
    assert "resets" in (explanation.reasons["aten"] or "")


def test_a_learned_initial_state() -> None:
    layer, first = anygru.GRU(3, 4, 2, bidirectional=True), torch.nn.Parameter(torch.randn(4, 1, 4))
    x = torch.randn(5, 6, 3)
    output, h_n = layer(x, first)
    expected, expected_h = layer(x, first.expand(-1, 6, -1).contiguous())
    assert torch.equal(output, expected)
    assert torch.equal(h_n, expected_h)
    (grad,) = torch.autograd.grad(output.square().sum(), first, retain_graph=True)
    assert grad.shape == (4, 1, 4)
    close(grad, torch.autograd.grad(expected.square().sum(), first)[0])
    with pytest.raises(ValueError, match=r"h_0 must be \[L\*D, B, H\] = \[4, 6, 4\], got \[4, 2, 4\]"):
        layer(x, first.expand(-1, 2, -1))
