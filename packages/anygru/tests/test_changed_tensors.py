"""Changes of tensors between forward and backward: the same gradients as torch's, or an error where torch has one."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers import close
from torch import Tensor, nn

import anygru


def pair(theirs: nn.Module) -> tuple[nn.Module, nn.Module]:
    """A layer of torch and a copy of it in anygru."""
    ours: Any = anygru.GRUCell(3, 4) if isinstance(theirs, nn.GRUCell) else anygru.GRU(3, 4, theirs.num_layers)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def attempt(compute: Callable[[], list[Tensor | None]]) -> list[Tensor | None] | None:
    """The gradients, or None where a tensor was changed that the backward pass needs."""
    try:
        return compute()
    except RuntimeError as error:
        if "inplace operation" not in str(error):
            raise
        return None


def same(found: list[list[Tensor | None] | None]) -> None:
    theirs, ours = found
    assert (theirs is None) == (ours is None)
    for one, other in zip(theirs or [], ours or [], strict=True):
        zeros = one if other is None else other
        if one is None or other is None:  # a gradient of zeros may be None
            assert zeros is None or not zeros.any()
        else:
            close(other, one)


@pytest.mark.parametrize("trained", ["weight bias", "none", "weight_hh", "weight_ih", "bias_ih"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("steps", [1, 4])
def test_changes_in_place(steps: int, layers: int, trained: str) -> None:
    theirs = nn.GRU(3, 4, layers, dtype=torch.float32)
    x, h_0 = torch.randn(steps, 2, 3), torch.randn(layers, 2, 4)
    for name, parameter in theirs.named_parameters():
        parameter.requires_grad_(name.startswith(tuple(trained.split())))
    for target, grad_x, grad_h in itertools.product(("x", "h", *theirs.state_dict()), (True, False), (True, False)):
        found = []
        for module in pair(copy.deepcopy(theirs)):
            for name, parameter in module.named_parameters():
                parameter.requires_grad_(name.startswith(tuple(trained.split())))
            leaves = [x.clone().requires_grad_(grad_x), h_0.clone().requires_grad_(grad_h)]
            given = [leaf * 1 for leaf in leaves]
            output, _ = module(*given)
            if not output.requires_grad:
                continue
            with torch.no_grad():
                dict(zip("xh", given, strict=True), **dict(module.named_parameters()))[target].add_(1.0)

            def gradients(output: Tensor = output, module: nn.Module = module, leaves: Any = leaves) -> Any:
                output.square().sum().backward()
                return [leaf.grad for leaf in (*leaves, *module.parameters())]

            found.append(attempt(gradients))
        if found:
            same(found)


@pytest.mark.parametrize("kind", ["layer", "cell", "loop"])
def test_requires_grad_between_the_passes(kind: str) -> None:
    """A gradient penalty, with each parameter trained or frozen in the forward pass, and then the same or not."""
    modules = pair(nn.GRU(3, 4) if kind == "layer" else nn.GRUCell(3, 4))
    steps = torch.randn(4, 2, 3)
    for first in itertools.product((True, False), repeat=4):
        for then in ((True,) * 4, (False,) * 4, first, tuple(not one for one in first)):
            found = []
            for module in modules:
                module.zero_grad()
                x = steps.clone().requires_grad_()
                for parameter, trained in zip(module.parameters(), first, strict=True):
                    parameter.requires_grad_(trained)
                h = module(x)[0] if kind == "layer" else torch.zeros(2, 4)
                for step in range({"layer": 0, "cell": 1, "loop": 4}[kind]):
                    h = module(x[step], h)
                for parameter, trained in zip(module.parameters(), then, strict=True):
                    parameter.requires_grad_(trained)
                (gradient,) = torch.autograd.grad(h.square().sum(), x, create_graph=True)
                (gradient.norm() - 1).square().backward()
                found.append([x.grad, *(parameter.grad for parameter in module.parameters())])
            same(found)


def test_second_derivatives_of_a_changed_tensor_are_refused() -> None:
    layer, x = anygru.GRU(3, 4), torch.randn(5, 2, 3, requires_grad=True)
    output, _ = layer(x)
    with torch.no_grad():
        layer.bias_ih_l0.add_(1.0)
    with pytest.raises(RuntimeError, match="was changed in place, and second derivatives compute that pass again"):
        torch.autograd.grad(output.sum(), x, create_graph=True)
