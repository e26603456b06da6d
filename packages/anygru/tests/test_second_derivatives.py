"""Second derivatives: only the requested derivatives are computed, and equal torch's."""

from typing import Any

import pytest
import torch
from helpers import close

import anygru
from anygru.backends import reference

PLACES = ["input", "h_0", "weight_ih", "weight_hh", "bias_ih", "bias_hh"]


@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("place", range(6), ids=PLACES)
def test_only_the_gradients_that_are_asked_for(place: int, is_leaf: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[bool]] = []
    gradients = reference.gradients

    def note(problem: Any, call: Any, grads: Any, needs: Any, *rest: Any) -> Any:
        asked.append(list(needs))
        return gradients(problem, call, grads, needs, *rest)

    monkeypatch.setattr(reference, "gradients", note)
    theirs, ours = torch.nn.GRU(3, 4).double(), anygru.GRU(3, 4).double()
    ours.load_state_dict(theirs.state_dict())
    found = []
    for layer in (theirs, ours):
        torch.manual_seed(0)
        leaves = [torch.randn(5, 2, 3, dtype=torch.float64), torch.randn(1, 2, 4, dtype=torch.float64)]
        leaves = [
            *(leaf.requires_grad_() for leaf in leaves),
            *(weight.detach().requires_grad_() for weight in layer.parameters()),
        ]
        used = leaves if is_leaf else [leaf * 1 for leaf in leaves]
        weights = dict(zip([name for name, _ in layer.named_parameters()], used[2:], strict=True))
        output, _ = torch.func.functional_call(layer, weights, (used[0], used[1]))
        (grad,) = torch.autograd.grad(output.square().sum(), [leaves[place]], create_graph=True)
        found.append([grad, *torch.autograd.grad(grad.square().sum(), leaves, allow_unused=True)])
    for expected, actual in zip(*found, strict=True):
        assert (expected is None) == (actual is None)
        if actual is not None:
            close(actual, expected)
    assert asked == [[number == place for number in range(6)]]


def test_backward_asks_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = torch.nn.GRU(3, 4, 2, bidirectional=True).double(), anygru.GRU(3, 4, 2, bidirectional=True).double()
    ours.load_state_dict(theirs.state_dict())
    given = torch.randn(5, 2, 3, dtype=torch.float64)
    found = []
    for layer in (theirs, ours):
        input = given.clone().requires_grad_()
        (grad,) = torch.autograd.grad(layer(input)[0].square().sum(), [input], create_graph=True)
        (grad.norm(2, -1) - 1).square().mean().backward()
        found.append([input.grad, *(weight.grad for weight in layer.parameters())])
    for expected, actual in zip(*found, strict=True):
        close(actual, expected)
