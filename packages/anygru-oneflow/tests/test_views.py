"""Views that a program changes in place or takes out of the graph: OneFlow 0.9.0 lets it, and torch refuses some of them."""

from typing import Any

import numpy as np
import pytest
import torch

import anygru_oneflow as flow
from anygru_oneflow.nn import functional as F

VIEWS: dict[str, Any] = {
    "reshape": lambda y: y.reshape(4, 3),
    "slice": lambda y: y[0],
    "transpose": lambda y: y.transpose(0, 1),
    "unsqueeze": lambda y: y.unsqueeze(0),
    "split": lambda y: flow.split(y, 4, 1)[1],
    "split in sizes": lambda y: y.split([1, 3, 2], dim=1)[1],
    "split of the last": lambda y: y.split(4, -1)[0],
    "chunk": lambda y: y.chunk(2, 1)[1],
    "chunk by keywords": lambda y: flow.chunk(input=y, chunks=2, dim=1)[1],
    "unbind by keywords": lambda y: flow.unbind(input=y, dim=1)[2],
    "unbind": lambda y: y.unbind(1)[2],
    "loop": lambda y: list(y)[1],
    "expand": lambda y: y.unsqueeze(0).expand(2, 2, 6),
    "index": lambda y: y[flow.tensor([1, 0])],
}
CHANGES: dict[str, Any] = {
    "add_": lambda z: z.add_(1.0),
    "mul_": lambda z: z.mul_(2.0),
    "zero_": lambda z: z.zero_(),
    "setitem": lambda z: z.__setitem__(0, 5.0),
    "masked_fill_": lambda z: z.masked_fill_(z > 0, 7.0),
}


def places(view: str) -> np.ndarray:
    """How often each of 12 elements is in the view."""
    numbers = VIEWS[view](flow.arange(12.0).reshape(2, 6)).numpy().astype(int)
    return np.bincount(numbers.ravel(), minlength=12).reshape(2, 6)


@pytest.mark.parametrize("view", VIEWS)
def test_a_result_leaves_the_graph(view: str) -> None:
    x = flow.ones(2, 6, requires_grad=True)
    part = VIEWS[view](x * 2)
    part.requires_grad_(False)
    assert not part.requires_grad
    ((part * 3).sum() + x.sum()).backward()
    assert x.grad.tolist() == [[1.0] * 6] * 2


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("view", [name for name in VIEWS if name != "expand"])
def test_a_view_changes_in_place(view: str, change: str) -> None:
    """Values and gradients of a view and its base, against torch's for the same change of a slice."""
    x = flow.ones(2, 6, requires_grad=True)
    y = x * 2
    part = VIEWS[view](y)
    CHANGES[change](part)
    ((part * 3).sum() + y.sum()).backward()
    slope = {"add_": 1.0, "mul_": 2.0}.get(change, 0.0)
    slopes = np.full(tuple(part.shape), slope)
    if change == "setitem":
        slopes[1:], slopes[0] = 1.0, 0.0
    marked = np.zeros(12)
    numbers = VIEWS[view](flow.arange(12.0).reshape(2, 6)).numpy().astype(int)
    marked[numbers.ravel()] = slopes.ravel()
    inside, marked = places(view), marked.reshape(2, 6)
    copied = view == "index"
    expected = 6 * inside * marked + (2 if copied else 2 * np.where(inside > 0, marked, 1))
    np.testing.assert_allclose(x.grad.numpy(), expected)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("view", [name for name in VIEWS if name != "expand"])
def test_a_view_made_without_gradients_changes_its_base(view: str, change: str) -> None:
    x = flow.ones(2, 6, requires_grad=True)
    y = x * 2
    with flow.no_grad():
        part = VIEWS[view](y)
    CHANGES[change](part)
    assert not part.requires_grad
    truth = torch.full((2, 6), 2.0)
    CHANGES[change](VIEWS[view](flow.from_numpy(truth.numpy())))
    assert y.tolist() == truth.tolist()
    y.sum().backward()
    assert x.grad.tolist() == [[2.0] * 6] * 2


def test_a_result_of_a_change_without_gradients_is_the_tensor_itself() -> None:
    x = flow.ones(3, requires_grad=True)
    with flow.no_grad():
        part = x[:2]
        assert part.add_(1.0) is part
    assert x.tolist() == [2.0, 2.0, 1.0]


ORDERED: dict[str, Any] = {
    "add": lambda y: y + 1, "pairs": lambda y: y * y, "negative": lambda y: -y, "power": lambda y: y**2,
    "relu": F.relu, "dropout": F.dropout, "clone": lambda y: y.clone(), "another type": lambda y: y.to(flow.float64),
    "where": lambda y: flow.where(y > 0, y, y), "zeros_like": flow.zeros_like, "sort": lambda y: y.sort(1)[0],
    "topk": lambda y: y.topk(4, 1)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_result_for_a_transposed_tensor_has_the_usual_order_in_memory(name: str, requires_grad: bool) -> None:
    """So `view` takes it, as in OneFlow 0.9.0; torch keeps the argument's order, and refuses the view."""
    x = flow.arange(24.0).reshape(2, 3, 4).requires_grad_(requires_grad)
    y = ORDERED[name](x.transpose(1, 2))
    assert y.stride() == (12, 3, 1)
    assert y.view(2, 12).shape == (2, 12)


def test_a_result_that_shares_memory_keeps_its_order() -> None:
    x = flow.arange(6.0).reshape(2, 3).t()
    for y in (x.detach(), x.data, flow.from_numpy(np.ones((2, 3), "f").T).add_(1)):
        assert y.stride() == (1, 3)
    y = x.detach()
    y[0, 0] = 9.0
    assert x[0, 0] == 9.0
