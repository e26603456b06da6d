"""States with the batch first: the same numbers as [L*D, B, H], in every kind of call of a layer."""

import copy
from typing import Any

import pytest
import torch
from helpers import close

import anygru
from anygru.functional import gru


def make(**options: Any) -> tuple[Any, Any]:
    """Two layers with the same weights, and states in either form."""
    torch.manual_seed(0)
    plain = anygru.GRU(3, 4, 2, **options)
    turned = copy.deepcopy(plain)
    turned.batch_first_states = True
    return plain, turned


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_every_form_of_batch(batch_first: bool, bidirectional: bool) -> None:
    plain, turned = make(batch_first=batch_first, bidirectional=bidirectional)
    states = 4 if bidirectional else 2
    x, h_0 = torch.randn(5, 6, 3), torch.randn(states, 6 if not batch_first else 5, 4)
    lengths = torch.randint(0, 5, (h_0.shape[1],))
    first = h_0.transpose(0, 1)
    for other in ((), (lengths,)):
        output, h_n = plain(x, h_0, *other)
        ours, state = turned(x, first, *other)
        close(ours, output)
        assert state.shape == (h_0.shape[1], states, 4)
        close(state, h_n.transpose(0, 1))
    listed = [torch.randn(length, 3) for length in (2, 4)]
    close(turned(listed, first[:2])[1], plain(listed, h_0[:, :2].contiguous())[1].transpose(0, 1))
    close(turned(x, first[:1])[1], plain(x, h_0[:, :1])[1].transpose(0, 1))
    close(turned(x)[1], plain(x)[1].transpose(0, 1))
    close(turned(x[0], h_0[:, 0])[1], plain(x[0], h_0[:, 0])[1])
    output, h_n, seen = turned(x, first, return_states=True)
    close(seen, plain(x, h_0, return_states=True)[2])
    found = gru(
        x, first, turned.flat_weights, batch_first=batch_first, bidirectional=bidirectional, batch_first_states=True
    )
    close(found[1], h_n)


def test_gradients_and_chunks() -> None:
    plain, turned = make()
    x, first = torch.randn(6, 2, 3), torch.randn(2, 2, 4, requires_grad=True)
    expected = torch.autograd.grad(plain(x, first.transpose(0, 1))[1].sin().sum(), first)[0]
    found = torch.autograd.grad(turned(x, first)[1].sin().sum(), first)[0]
    close(found, expected)
    state: Any = None
    for chunk in x.split(2):
        _, state = turned(chunk, state)
    close(state, turned(x)[1])
    close(turned.stream(2).run(x), plain(x)[0])


def test_frozen_layers_and_copies() -> None:
    plain, turned = make()
    x, h_0 = torch.randn(5, 2, 3), torch.randn(2, 2, 4)
    frozen = turned.freeze()
    assert "batch_first_states=True" in repr(frozen)
    assert "batch_first_states=True" in repr(turned)
    with torch.no_grad():
        for layer in (frozen, frozen.thaw(), turned.ungrouped()):
            close(layer(x, h_0.transpose(0, 1))[1], plain(x, h_0)[1].transpose(0, 1))
        close(frozen.stream(2).run(x), plain(x)[0])


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
@pytest.mark.compiles
def test_compiled() -> None:
    plain, turned = make()
    x, h_0 = torch.randn(5, 2, 3), torch.randn(2, 2, 4)
    close(torch.compile(turned, fullgraph=True)(x, h_0.transpose(0, 1))[1], plain(x, h_0)[1].transpose(0, 1))


def test_a_state_in_the_other_form_is_refused() -> None:
    _, turned = make()
    with pytest.raises(anygru.ArgumentError, match=r"h_0 must be \[B, L\*D, H\] = \[B, 2, 4\], got \[2, 6, 4\]"):
        turned(torch.randn(5, 6, 3), torch.randn(2, 6, 4))
