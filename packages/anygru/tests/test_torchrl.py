"""TorchRL's GRUModule on anygru, compared with TorchRL's own."""

from typing import Any

import pytest
import torch
from helpers import close
from torch import nn

torchrl = pytest.importorskip("torchrl.modules", reason="TorchRL is not installed")

from tensordict import TensorDict  # noqa: E402

from anygru import GRU  # noqa: E402
from anygru.patching.torchrl import GRUModule  # noqa: E402

KEYS = {"in_keys": ["observation", "state"], "out_keys": ["features", ("next", "state")]}


def batch(layers: int, first: bool, states: bool) -> TensorDict:
    """4 rows of 7 steps with trajectories of all lengths from 1 on."""
    is_init = torch.zeros(4, 7, 1, dtype=torch.bool)
    for row, step in ((0, 3), (1, 1), (1, 2), (1, 6), (2, 4), (2, 5)):
        is_init[row, step] = True
    is_init[:, 0] = first
    state = torch.randn(4, 7, layers, 5, dtype=torch.float64) if states else torch.zeros(4, 7, layers, 5).double()
    return TensorDict(
        {"observation": torch.randn(4, 7, 3, dtype=torch.float64), "state": state, "is_init": is_init}, [4, 7]
    )


def both(layers: int = 2, **options: Any) -> tuple[nn.Module, nn.Module]:
    theirs = torchrl.GRUModule(3, 5, layers, **KEYS, **options).double()
    return theirs, GRUModule(gru=theirs.gru, **KEYS, **options)


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_batch_of_trajectories(layers: int, first: bool, states: bool) -> None:
    given, found = batch(layers, first, states), []
    for module in both(layers, default_recurrent_mode=True):
        result = module(given.clone())
        loss = result["features"].square().sum() + result["next", "state"].sin().sum()
        found.append(
            (result["features"], result["next", "state"], *torch.autograd.grad(loss, list(module.parameters())))
        )
    assert len(found[0]) == 2 + 4 * layers
    for theirs, ours in zip(*found, strict=True):
        close(ours, theirs)


def test_one_step_of_an_environment() -> None:
    given = batch(2, True, True)[:, 1]
    theirs, ours = both()
    expected, found = theirs(given.clone()), ours(given.clone())
    for key in ("features", ("next", "state")):
        close(found[key], expected[key])


def test_a_batch_is_the_steps_one_after_the_other() -> None:
    module, given = GRUModule(3, 5, 2, **KEYS, options={"reset": "before"}).double(), batch(2, True, False)
    state, outputs = given["state"][:, 0], []
    for step in range(7):
        one = given[:, step].clone().set("state", state)
        one = module(one)
        state = one["next", "state"]
        outputs.append(one["features"])
    with torchrl.set_recurrent_mode(True):
        found = module(given.clone())
    close(found["features"], torch.stack(outputs, 1))
    close(found["next", "state"][:, -1], state)


def test_other_forms_and_what_is_kept() -> None:
    layer = nn.GRU(3, 5, batch_first=True)
    module = GRUModule(gru=layer, **KEYS, default_recurrent_mode=True)
    assert module.gru.weight_hh_l0 is layer.weight_hh_l0
    assert isinstance(module.gru, GRU)
    given = batch(1, True, False).float()
    close(module(given[1].clone())["features"], module(given.clone())["features"][1])
    deep = given.unsqueeze(0).clone()
    assert module(deep)["features"].shape == (1, 4, 7, 5)
    (primer,) = module.make_tensordict_primer().primers.values()
    assert primer.shape == (1, 5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"gru": nn.GRU(3, 5, batch_first=True, bidirectional=True)}, "must not be bidirectional"),
        ({"gru": nn.GRU(3, 5)}, "batch_first=True"),
        ({"gru": nn.GRU(3, 5, batch_first=True), "input_size": 3}, "comes instead of input_size"),
        ({"input_size": 3}, "needs input_size and hidden_size"),
    ],
)
def test_refusals(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GRUModule(**arguments, **KEYS)
