"""Gradients that are clipped inside the recurrence, against a backward pass written out in float64 NumPy."""

from typing import Any

import numpy as np
import pytest
import torch
from helpers import Case, all_close, close, detached, sigmoid
from torch import Tensor

import anygru
from anygru.functional import gru

CASES = {
    "plain": Case(T=6, B=3, I=4, H=7),
    "before": Case(T=6, B=3, I=4, H=7, reset="before"),
    "no bias": Case(T=6, B=3, I=4, H=7, bias=False),
    "ragged": Case(T=6, B=4, I=3, H=5, lengths=(3, 6, 0, 2)),
    "ragged, before": Case(T=6, B=4, I=3, H=5, lengths=(3, 6, 0, 2), reset="before"),
    "many rows": Case(T=2, B=65, I=3, H=34),
    "one step": Case(T=1, B=9, I=3, H=7),
}


def numpy_gradients(case: Case, tensors: list[Any], decay: Any, grads: tuple[Any, Any], most: float) -> list[Any]:
    """Gradients of input, h_0 and weights; each step hands its clipped gradient to the state before it."""
    x, h_0, *weights = tensors
    w_ih, w_hh = weights[:2]
    H = case.H
    b_ih, b_hh = weights[2:] if case.bias else (np.zeros(3 * H), np.zeros(3 * H))
    found = [np.zeros_like(one) for one in (x, h_0, w_ih, w_hh, b_ih, b_hh)]
    d_x, d_h, d_w_ih, d_w_hh, d_b_ih, d_b_hh = found
    r_, z_, n_ = (slice(k * H, (k + 1) * H) for k in range(3))
    for b in range(case.B):
        length = case.T if case.lengths is None else case.lengths[b]
        before, kept = [h_0[0, b]], []
        for t in range(length):
            h = before[-1] * decay[t, b]
            r = sigmoid(w_ih[r_] @ x[t, b] + b_ih[r_] + w_hh[r_] @ h + b_hh[r_])
            z = sigmoid(w_ih[z_] @ x[t, b] + b_ih[z_] + w_hh[z_] @ h + b_hh[z_])
            read = r * h if case.reset == "before" else h
            product = w_hh[n_] @ read + b_hh[n_]
            n = np.tanh(w_ih[n_] @ x[t, b] + b_ih[n_] + (product if case.reset == "before" else r * product))
            kept.append((h, r, z, n, read, product))
            before.append((1 - z) * n + z * h)
        carry = grads[1][0, b].copy()
        for t in range(length)[::-1]:
            h, r, z, n, read, product = kept[t]
            grad = carry + grads[0][t, b]
            own_n = grad * (1 - z) * (1 - n * n)
            own_z = grad * (h - n) * z * (1 - z)
            to_product = own_n if case.reset == "before" else own_n * r
            to_read = w_hh[n_].T @ to_product
            own_r = (to_read * h if case.reset == "before" else own_n * product) * r * (1 - r)
            to_h = grad * z + (to_read * r if case.reset == "before" else to_read)
            to_h += w_hh[r_].T @ own_r + w_hh[z_].T @ own_z
            carry = np.clip(to_h * decay[t, b], -most, most)
            gates = np.concatenate([own_r, own_z, own_n])
            states = np.concatenate([own_r, own_z, to_product])
            d_x[t, b] = w_ih.T @ gates
            d_w_ih += np.outer(gates, x[t, b])
            d_w_hh[: 2 * H] += np.outer(states[: 2 * H], h)
            d_w_hh[n_] += np.outer(to_product, read)
            d_b_ih += gates
            d_b_hh += states
        d_h[0, b] = carry
    return found if case.bias else found[:4]


def make(case: Case, decayed: bool) -> tuple[list[Tensor], Tensor, tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(7)
    decay = torch.ones(case.T, case.B, case.H, dtype=torch.float64)
    if decayed:
        decay = torch.rand(case.T, case.B, case.H, generator=generator, dtype=torch.float64) * 1.5
    output = torch.randn(case.T, case.B, case.H, generator=generator, dtype=torch.float64)
    h_n = torch.randn(1, case.B, case.H, generator=generator, dtype=torch.float64)
    return [case.input(), case.h_0(), *case.weights()], decay, (output, h_n)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("decayed", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name: str, decayed: bool, backend: str) -> None:
    case = CASES[name]
    tensors, decay, grads = make(case, decayed)
    for most in (0.05, 0.4, 1e9):
        expected = numpy_gradients(case, detached(tensors), decay.numpy(), (grads[0].numpy(), grads[1].numpy()), most)
        extra = {"decay": decay} if decayed else {}
        results = gru(*tensors[:2], tensors[2:], backend=backend, gradient_clipping=most, **case.options, **extra)
        plain = gru(*tensors[:2], tensors[2:], backend=backend, **case.options, **extra)
        assert all(map(torch.equal, results, plain))
        for found, wanted in zip(torch.autograd.grad(results, tensors, grads), expected, strict=True):
            close(found, torch.from_numpy(wanted), most=most)


@pytest.mark.parametrize("batch", [3, 40])
@pytest.mark.parametrize("reset", ["after", "before"])
def test_a_loop_over_a_cell_is_the_layer(reset: str, batch: int) -> None:
    torch.manual_seed(0)
    cell = anygru.GRUCell(3, 300 if batch > 3 else 8, reset=reset, gradient_clipping=0.01, dtype=torch.float64)
    x = torch.randn(6, batch, 3, dtype=torch.float64, requires_grad=True)
    h = torch.randn(batch, cell.hidden_size, dtype=torch.float64, requires_grad=True)
    wanted = [x, h, *cell.parameters()]
    state, outputs = h, []
    for step in x:
        state = cell(step, state)
        outputs.append(state)
    found = torch.autograd.grad(torch.stack(outputs).pow(2).sum(), wanted)
    output, _ = gru(x, h[None], list(cell.parameters()), reset=reset, gradient_clipping=0.01, backend="reference")
    all_close(found, torch.autograd.grad(output.pow(2).sum(), wanted))


def test_chunks_have_the_gradients_of_the_whole_sequence() -> None:
    layer = anygru.GRU(3, 6, gradient_clipping=0.03, dtype=torch.float64)
    x = torch.randn(8, 2, 3, dtype=torch.float64, requires_grad=True)
    whole = torch.autograd.grad(layer(x)[0].sum(), [x, *layer.parameters()])
    outputs, state = [], None
    for chunk in x.split(3):
        output, state = layer(chunk, state)
        outputs.append(output)
    all_close(torch.autograd.grad(torch.cat(outputs).sum(), [x, *layer.parameters()]), whole)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_second_derivatives_are_refused(backend: str) -> None:
    layer = anygru.GRU(3, 4, gradient_clipping=0.1, backend=backend)
    cell = anygru.GRUCell(3, 4, gradient_clipping=0.1, backend=backend)
    for output in (layer(torch.randn(5, 2, 3))[0], cell(torch.randn(2, 3), torch.randn(2, 4, requires_grad=True))):
        with pytest.raises(anygru.BackendError, match="gradient_clipping has no second derivatives"):
            output.sum().backward(create_graph=True)
    layer.gradient_clipping = None
    layer(torch.randn(5, 2, 3))[0].sum().backward(create_graph=True)
    layer.zero_grad()


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
@pytest.mark.compiles
def test_compiled() -> None:
    layer = anygru.GRU(3, 5, gradient_clipping=0.02)
    x = torch.randn(4, 2, 3, requires_grad=True)
    expected = torch.autograd.grad(layer(x)[0].sum(), [x, *layer.parameters()])
    found = torch.autograd.grad(
        torch.compile(layer, fullgraph=True, backend="aot_eager")(x)[0].sum(), [x, *layer.parameters()]
    )
    all_close(found, expected)
    layer.activation = torch.sin
    with pytest.raises(Exception, match="needs activations that have names"):
        torch.compile(layer, fullgraph=True, backend="aot_eager")(x)


def test_transforms() -> None:
    layer = anygru.GRU(3, 5, gradient_clipping=0.02, dtype=torch.float64)
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    found = torch.func.vmap(torch.func.grad(lambda one: layer(one)[0].sum()), 1, 1)(x)
    close(found, torch.autograd.grad(layer(x.requires_grad_())[0].sum(), x)[0])
    tangent = torch.func.jvp(lambda one: layer(one)[0], (x.detach(),), (torch.ones_like(x),))[1]
    free = anygru.GRU.around(layer.weights)
    close(tangent, torch.func.jvp(lambda one: free(one)[0], (x.detach(),), (torch.ones_like(x),))[1])


def test_second_derivatives_by_transforms() -> None:
    torch.manual_seed(0)
    layer = anygru.GRU(3, 4, gradient_clipping=0.05, dtype=torch.float64)
    cell = anygru.GRUCell(3, 4, gradient_clipping=0.05, dtype=torch.float64)

    def in_one_call(x: Tensor) -> Tensor:
        return layer(x)[0].pow(2).sum()

    def in_several_calls(x: Tensor) -> Tensor:
        state = cell(x[1], cell(x[0]))
        return layer(x[2:], state[None])[0].pow(2).sum()

    x, weighing, towards = (torch.randn(4, 2, 3, dtype=torch.float64) for _ in range(3))
    for loss in (in_one_call, in_several_calls):
        gradient = torch.func.grad(loss)
        clipped = gradient(x)
        layer.gradient_clipping = cell.gradient_clipping = None
        assert not torch.allclose(clipped, gradient(x))
        layer.gradient_clipping = cell.gradient_clipping = 0.05
        step = 1e-6 * towards
        expected = ((gradient(x + step) - gradient(x - step)) * weighing).sum() / 2e-6
        second = torch.func.grad(lambda one, gradient=gradient: (gradient(one) * weighing).sum())(x)
        # Differences of this step are known to some nine digits only, fewer than `close` asks of float64.
        torch.testing.assert_close((second * towards).sum(), expected, rtol=1e-5, atol=1e-6)
        forward = torch.func.jvp(gradient, (x,), (towards,))[1]
        torch.testing.assert_close((forward * weighing).sum(), expected, rtol=1e-5, atol=1e-6)


def test_other_backends_refuse_and_say_so() -> None:
    layer = anygru.GRU(3, 5, gradient_clipping=1.0, backend="aten")
    with pytest.raises(anygru.BackendError, match="no clipping of gradients"):
        layer(torch.randn(4, 2, 3))
    with torch.no_grad():
        assert layer(torch.randn(4, 2, 3))[0].shape == (4, 2, 5)
    told = anygru.explain(anygru.GRU(3, 5, gradient_clipping=1.0), torch.randn(4, 2, 3))
    assert told.backend == "cpu"
    assert "no clipping of gradients" in str(told.reasons["aten"])
    assert "gradient_clipping=1.0" in repr(layer)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "1", True])
def test_what_is_no_bound(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="gradient_clipping must be a positive number or None"):
        anygru.GRU(3, 4, gradient_clipping=value)
