"""Weights in one buffer, as cuDNN reads them; here without a GPU, in an order that is made up."""

import pytest
import torch

from anygru.backends import one_buffer

SHAPES = [torch.Size(shape) for shape in ((12, 3), (12, 4), (12,), (12,))]
PLACES = (12 + 48, 12, 0, 12 + 48 + 36)  # a bias, w_hh, w_ih, the other bias


@pytest.fixture(autouse=True)
def _made_up_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_buffer, "places", lambda *facts: one_buffer.Places(108, PLACES))


def test_the_values_lie_in_the_order_asked_for() -> None:
    weights = [torch.randn(shape) for shape in SHAPES]
    found = one_buffer.views(weights, 1, False)
    assert len({each.untyped_storage().data_ptr() for each in found}) == 1
    assert tuple(each.storage_offset() for each in found) == PLACES
    assert found[0].untyped_storage().nbytes() == 4 * 108
    assert all(map(torch.equal, found, weights))
    again = one_buffer.views(found, 1, False)
    assert all(one is other for one, other in zip(again, found, strict=True))
    moved = [found[0].clone(), *found[1:]]
    assert one_buffer.views(moved, 1, False)[1] is not found[1]


def test_gradients_reach_the_weights() -> None:
    weights = [torch.randn(shape, requires_grad=True) for shape in SHAPES]
    found = one_buffer.views(weights, 1, False)
    grads = torch.autograd.grad(sum(number * each.sum() for number, each in enumerate(found, 1)), weights)
    assert [grad.unique().tolist() for grad in grads] == [[1.0], [2.0], [3.0], [4.0]]


def test_where_cudnn_wants_gaps_there_are_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    places = (16 + 48, 16, 0, 16 + 48 + 36)
    monkeypatch.setattr(one_buffer, "places", lambda *facts: one_buffer.Places(116, places))
    weights = [torch.randn(shape, requires_grad=True) for shape in SHAPES]
    found = one_buffer.views(weights, 1, False)
    assert tuple(each.storage_offset() for each in found) == places
    buffer = found[0].detach().as_strided((116,), (1,), 0)
    assert torch.equal(buffer[12:16], torch.zeros(4))
    assert torch.equal(buffer[112:], torch.zeros(4))
    grads = torch.autograd.grad(sum(number * each.sum() for number, each in enumerate(found, 1)), weights)
    assert [grad.unique().tolist() for grad in grads] == [[1.0], [2.0], [3.0], [4.0]]
    again = one_buffer.views(found, 1, False)
    assert all(one is other for one, other in zip(again, found, strict=True))


def test_a_buffer_that_ends_too_early_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    found = one_buffer.views([torch.randn(shape) for shape in SHAPES], 1, False)
    monkeypatch.setattr(one_buffer, "places", lambda *facts: one_buffer.Places(116, PLACES))
    again = one_buffer.views(found, 1, False)
    assert again[0].untyped_storage().nbytes() == 4 * 116


def test_a_transposed_weight_in_the_right_place_is_copied() -> None:
    """Its numbers are in the buffer, in another order; cuDNN would read them in the wrong order."""
    found = one_buffer.views([torch.randn(shape) for shape in SHAPES], 1, False)
    found[1] = found[1].view(4, 12).t()
    again = one_buffer.views(found, 1, False)
    assert again[1].is_contiguous()
    assert torch.equal(again[1], found[1])
