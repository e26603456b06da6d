"""Programs with every option mixed at random, run in every way, against the same step by step in float64."""

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers import all_close, close, mostly_slow
from mixed_options import FORMS, ONE_WAY, Program
from torch import Tensor

from anygru.facts import torch_private

Tensors = dict[str, Tensor]


def weights_of(layer: torch.nn.Module) -> Tensors:
    return {name: weight.detach().double().requires_grad_() for name, weight in layer.named_parameters()}


def loss_of(results: list[Tensor]) -> Tensor:
    weighed = [each.double() * torch.linspace(-1, 1, each.numel()).view_as(each) for each in results]
    return torch.stack([each.sum() + 0.1 * each.square().sum() for each in weighed]).sum()


def gradients(results: list[Tensor], leaves: list[Tensor], graph: bool = False) -> list[Tensor]:
    options = {"allow_unused": True, "materialize_grads": True, "create_graph": graph}
    return list(torch.autograd.grad(loss_of(results), leaves, **options))


def compare(program: Program, results: list[Tensor], layer: Any, tensors: Tensors, second: bool = False) -> None:
    """Results of `Program.leave` and their gradients, or the second ones, with those of `Program.truth`."""
    weights = weights_of(layer)
    copies = {name: tensor.detach().double().requires_grad_() for name, tensor in tensors.items()}
    expected = program.truth(weights, copies)
    leaves = [*tensors.values(), *layer.parameters()], [*copies.values(), *weights.values()]
    all_close(results, expected)
    found, truth = (gradients(r, own, second) for r, own in zip((results, expected), leaves, strict=True))
    if second:
        found, truth = gradients(found, leaves[0]), gradients(truth, leaves[1])
    for name, one, other in zip([*copies, *weights], found, truth, strict=True):
        close(one, other, gradient=name)


def eager(program: Program, seed: int) -> None:
    tensors, layer = program.leaves(), program.layer()
    if seed % 3:
        layer = pickle.loads(pickle.dumps(layer)) if seed % 3 == 1 else copy.deepcopy(layer)
    results = program.leave(program.call(layer, tensors))
    compare(program, results, layer, tensors)
    with torch.no_grad():
        all_close(program.leave(program.call(layer, tensors)), results)


def second_derivatives(program: Program, seed: int) -> None:
    program = program.without("gradient_clipping", "activation", "gate_activation")
    tensors, layer = program.leaves(), program.layer()
    compare(program, program.leave(program.call(layer, tensors)), layer, tensors, second=True)


def functional(program: Program, seed: int) -> None:
    layer, tensors = program.layer(), program.tensors()

    def loss(weights: Tensors, tensors: Tensors) -> Tensor:
        keywords = program.keywords(tensors)
        found = torch.func.functional_call(layer, weights, (program.enter(tensors["x"]),), keywords)
        return loss_of(program.leave(found))

    weights = weights_of(layer)
    found = torch.func.grad(loss, argnums=(0, 1))({n: w.detach() for n, w in weights.items()}, tensors)
    copies = program.leaves()
    truth = gradients(program.truth(weights, copies), [*weights.values(), *copies.values()])
    all_close([*found[0].values(), *found[1].values()], truth)


def chunks(program: Program, seed: int) -> None:
    tensors, layer, size = program.leaves(), program.layer(), len(program.x)
    cut = random.Random(seed).randint(0, size)
    state, parts = tensors.get("h_0"), []
    for own in (slice(0, cut), slice(cut, size)):
        part, given = program.part(tensors, own)
        if state is not None:
            given["h_0"] = state
        parts.append(part.leave(part.call(layer, given)))
        state = parts[-1][1]
    states = [torch.cat([part[2] for part in parts], 1)] if program.return_states else []
    assert state is not None
    compare(program, [torch.cat([part[0] for part in parts]), state, *states], layer, tensors)


def stream(program: Program, seed: int) -> None:
    program = program._replace(decay=None, return_states=False)
    pick, layer, tensors, size = random.Random(seed), program.layer(), program.tensors(), len(program.x)
    one = program.form == "one"
    steps = layer.stream(None if one else len(program.lengths))
    if "h_0" in tensors:
        state = tensors["h_0"].expand(-1, len(program.lengths), -1)
        steps.state = state[:, 0] if one else state
    outputs: list[Tensor] = []
    while len(outputs) < size:
        t = len(outputs)
        if pick.random() < 0.5:
            part, given = program.part(tensors, slice(t, t + 1))
            keywords = part.stream_keywords(given, one, True)
            outputs.append(steps.step(given["x"][0, 0] if one else given["x"][0], **keywords))
        else:
            part, given = program.part(tensors, slice(t, pick.randint(t + 1, size)))
            keywords = part.stream_keywords(given, one, False)
            outputs += steps.run(given["x"][:, 0] if one else given["x"], **keywords)
        steps = copy.deepcopy(steps) if pick.random() < 0.2 else steps
    expected = program.truth(weights_of(layer), tensors)
    close(torch.stack(outputs), expected[0][:, 0] if one else expected[0])
    close(steps.state, expected[1][:, 0] if one else expected[1])


def frozen(program: Program, seed: int) -> None:
    program = program.without("norm", "zoneout")._replace(return_states=False)
    layer, tensors = program.layer(torch.float32), {n: t.float() for n, t in program.tensors().items()}
    with torch.no_grad():
        exact = program.leave(program.call(layer, tensors))
    for weights, bound in (("float32", 0.0), ("bfloat16", 1e-4), ("int8", 2e-3)):
        made = pickle.loads(pickle.dumps(layer.freeze(weights)))
        stored = {name: w.double() for name, w in zip(weights_of(layer), made.thaw().parameters(), strict=True)}
        truth = program.truth(stored, {name: tensor.double() for name, tensor in tensors.items()})
        for one, same, other in zip(program.leave(program.call(made, tensors)), exact, truth, strict=True):
            if weights == "float32":
                assert torch.equal(one, same)
            else:
                assert ((one - other).abs() <= bound * (1 + other.abs().max())).all(), weights


def noise(program: Program, seed: int) -> None:
    """The kernels with the same draws as the reference: the only independent truth is for dropped weights."""
    pick, results = random.Random(seed), []
    chances = {"zoneout": 0.3, "recurrent_dropout": 0.4, "weight_dropout": 0.5}
    changes: dict[str, Any] = {name: pick.choice((0.0, chance)) for name, chance in chances.items()}
    changes["recurrent_dropout_on"] = pick.choice(("state", "candidate"))
    changes["dropout"] = 0.5 if program.arguments["num_layers"] > 1 else 0.0
    for backend in (None, "reference"):
        layer, tensors = program.layer(**changes, backend=backend).train(), program.leaves()
        torch.manual_seed(seed)
        found = program.leave(program.call(layer, tensors))
        results.append([*found, *gradients(found, [*tensors.values(), *layer.parameters()])])
    all_close(*results)


# Up to torch 2.4 the parts of a nested tensor have no gradient; up to 2.8 torch.func cannot read whole numbers.
GRADIENTS = FORMS if torch_private.at_least(2, 6) else FORMS[:6]
WAYS: dict[Callable[[Program, int], None], tuple[str, ...]] = {
    eager: GRADIENTS,
    second_derivatives: FORMS[:6],  # torch's own unbind of a nested tensor has no second derivative
    functional: ("dense", "batch first", "one", "lengths", "list") if torch_private.at_least(2, 10) else FORMS[:3],
    chunks: ONE_WAY,
    stream: ("dense", "one"),
    frozen: FORMS,
    noise: GRADIENTS,
}
SEEDS = [range(start, start + 5) for start in range(0, 80, 5)]


@pytest.mark.parametrize("seeds", mostly_slow(SEEDS), ids=str)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_against_steps_in_float64(way: Callable[[Program, int], None], seeds: range) -> None:
    for seed in seeds:
        program = Program.draw(seed, WAYS[way], one_way=way in (chunks, stream))
        try:
            way(program, seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {program.told()}") from error
