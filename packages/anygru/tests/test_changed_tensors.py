"""Changes of tensors between forward and backward: the same gradients as torch's, or an error where torch has one."""

import copy
import itertools
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from helpers import close, mostly_slow
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import anygru

REFUSED = "refused"


def pair(theirs: nn.Module) -> tuple[nn.Module, nn.Module]:
    """A layer of torch and a copy of it in anygru."""
    is_cell, bias = isinstance(theirs, nn.GRUCell), bool(theirs.bias)
    ours: Any = anygru.GRUCell(3, 4, bias) if is_cell else anygru.GRU(3, 4, theirs.num_layers, bias)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def attempt(compute: Callable[[], Sequence[Tensor | None]]) -> Sequence[Tensor | None] | None | str:
    """The gradients; None where a tensor was changed that the backward pass needs; or that second derivatives are refused."""
    try:
        return compute()
    except RuntimeError as error:
        if "was changed in place, and second derivatives" in str(error):
            return REFUSED
        if "inplace operation" not in str(error):
            raise
        return None


def same(found: Sequence[Any]) -> None:
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


class Change:
    """A random loop over a cell, in which one tensor is changed between forward and backward, or between two backward passes."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        torch.manual_seed(seed)
        self.cell = nn.GRUCell(3, 4, draw.random() < 0.7)
        self.steps, self.has_state = draw.choice((1, 1, 2, 4)), draw.random() < 0.8
        some = draw.random() < 0.6
        self.trained = [not some or draw.random() < 0.5 for _ in self.cell.parameters()]
        self.given = [torch.randn(2, 3) for _ in range(self.steps)] + [torch.randn(2, 4)]
        self.needs = [draw.random() < 0.4 for _ in self.given]
        self.target, self.is_between = draw.randrange(1000), draw.random() < 0.3
        self.way = draw.choice(("once", "twice", "second"))

    def gradients(self, cell: nn.Module) -> list[Tensor | None]:
        """Of the inputs, the first state and the parameters, of all backward passes."""
        for parameter, trained in zip(cell.parameters(), self.trained, strict=True):
            parameter.requires_grad_(trained)
        leaves = [tensor.clone().requires_grad_(need) for tensor, need in zip(self.given, self.needs, strict=True)]
        *inputs, h = tensors = [leaf * 1 for leaf in leaves]
        for step, x in enumerate(inputs):
            h = cell(x, h) if step or self.has_state else cell(x)
            tensors.append(h)
        wanted = [leaf for leaf in (*leaves, *cell.parameters()) if leaf.requires_grad]
        changed = (tensors + list(cell.parameters()))[self.target % (len(tensors) + len(self.trained))]
        loss = h.square().sum()
        found: list[Tensor | None] = []
        for time in range(1 + (self.way != "once")):
            if time == self.is_between:
                with torch.no_grad():
                    changed.add_(1.0)
            if time and self.way == "second":
                loss = sum((each.square().sum() for each in found if each is not None), torch.zeros(()))
            if loss.requires_grad:
                more = {"retain_graph": True, "create_graph": self.way == "second" and not time}
                found += torch.autograd.grad(loss, wanted, allow_unused=True, **more)
        return found


@pytest.mark.parametrize("first", mostly_slow(range(0, 160, 40)))
def test_random_changes_of_a_loops_tensors(first: int) -> None:
    for seed in range(first, first + 40):
        change = Change(seed)
        found = [attempt(partial(change.gradients, module)) for module in pair(change.cell)]
        if found[1] != REFUSED or change.way != "second":
            same(found)


@pytest.mark.compiles
@pytest.mark.parametrize("frozen", ["weight_ih", "weight_hh"])
def test_changes_in_place_of_a_compiled_layers_tensors(frozen: str) -> None:
    modules, x, h_0 = pair(nn.GRU(3, 4)), torch.randn(5, 2, 3), torch.randn(1, 2, 4)
    for module in modules:
        for name, parameter in module.named_parameters():
            parameter.requires_grad_(not name.startswith(frozen))
    calls = modules[0], torch.compile(modules[1], backend="aot_eager", fullgraph=True)
    for target in ("x", "h", *modules[0].state_dict()):
        found = []
        for module, call in zip(modules, calls, strict=True):
            given = [x.clone(), h_0.clone()]
            output = call(*given)[0].square().sum()
            with torch.no_grad():
                dict(zip("xh", given, strict=True), **dict(module.named_parameters()))[target].add_(1.0)
            wanted = [parameter for parameter in module.parameters() if parameter.requires_grad]
            found.append(attempt(partial(torch.autograd.grad, output, wanted)))
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


@pytest.mark.parametrize("kind", ["layer", "cell", "loop"])
def test_second_derivatives_through_a_checkpoint(kind: str) -> None:
    """It gives each saved tensor once to a backward pass."""
    steps, found = torch.randn(4, 2, 3), []
    for module in pair(nn.GRU(3, 4) if kind == "layer" else nn.GRUCell(3, 4)):

        def states(x: Tensor, module: nn.Module = module) -> Tensor:
            h = module(x)[0] if kind == "layer" else torch.zeros(2, 4)
            for step in range({"layer": 0, "cell": 1, "loop": 4}[kind]):
                h = module(x[step], h)
            return h

        x = steps.clone().requires_grad_()
        h = checkpoint(states, x, use_reentrant=False)
        (gradient,) = torch.autograd.grad(h.square().sum(), x, create_graph=True)
        gradient.square().sum().backward()
        found.append([x.grad, *(parameter.grad for parameter in module.parameters())])
    same(found)


def test_second_derivatives_of_a_changed_tensor_are_refused() -> None:
    layer, x = anygru.GRU(3, 4), torch.randn(5, 2, 3, requires_grad=True)
    output, _ = layer(x)
    with torch.no_grad():
        layer.bias_ih_l0.add_(1.0)
    with pytest.raises(RuntimeError, match="was changed in place, and second derivatives compute that pass again"):
        torch.autograd.grad(output.sum(), x, create_graph=True)


@pytest.mark.parametrize("name", ["bias_ih", "bias_hh"])
def test_second_derivatives_of_a_loop_over_a_changed_cell_are_refused(name: str) -> None:
    """Backward does not read a bias, so that first derivatives are right; second ones would compute with the new bias."""
    for create_graph in (False, True):
        cell, states = anygru.GRUCell(3, 4), [torch.zeros(2, 4)]
        for x in torch.randn(4, 2, 3):
            states.append(cell(x, states[-1]))
        with torch.no_grad():
            getattr(cell, name).add_(1.0)
        for target in (states[2], cell.weight_hh):  # behind steps that share their weights, and behind all
            if not create_graph:
                torch.autograd.grad(states[-1].sum(), target, retain_graph=True)
                continue
            with pytest.raises(RuntimeError, match="was changed in place, and second derivatives"):
                torch.autograd.grad(states[-1].sum(), target, create_graph=True)
