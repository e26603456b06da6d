"""Every documented activation, of gates and of candidates, on every way to the native kernels."""

import copy
from typing import Any

import pytest
import torch
from helpers import all_close, with_kernels
from torch import Tensor

import anygru
from anygru.backends.cpu_calls import native
from anygru.facts.formula import ACTIVATIONS

pytestmark = pytest.mark.skipif(native is None, reason="needs the native kernels")

NAMES = list(ACTIVATIONS)
# Each in both places, with another in the other place.
CHOICES = [
    {"gate_activation": gate, "activation": other} for gate, other in zip(NAMES, NAMES[3:] + NAMES[:3], strict=True)
]
every_choice = pytest.mark.parametrize("chosen", CHOICES, ids=lambda one: "-".join(one.values()))
both_formulas = pytest.mark.parametrize("reset", ["after", "before"])
kernels = with_kernels(() if native is None else native.frozen_variants())
LENGTHS = [2, 5, 0, 5, 1]
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ragged": ({"num_layers": 2, "bidirectional": True}, {"lengths": LENGTHS}),
    "norm": ({"norm": "layer", "bidirectional": True}, {}),
    "zoneout": ({"zoneout": 0.2}, {"resets": torch.arange(25).view(5, 5) % 7 == 6}),
    "groups": ({"groups": 3}, {}),
}


def make(kind: Any, dtype: torch.dtype, hidden: int = 21, **options: Any) -> Any:
    """A layer with weights that bfloat16 holds, and hidden units that do not fill the last vector.

    Where gates are not between 0 and 1, states grow; small weights keep them small.
    """
    torch.manual_seed(0)
    layer = kind(4, hidden, **options).to(dtype).eval()
    scale = 0.4 if layer.gate_activation in ("sigmoid", "hardsigmoid") else 0.1
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_((scale * torch.randn(weight.shape)).bfloat16())
    return layer


def values(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(shape).bfloat16().to(dtype).requires_grad_()


def with_gradients(results: tuple[Tensor, ...], tensors: list[Tensor]) -> list[Tensor]:
    ups = [torch.linspace(-1, 1, one.numel()).view_as(one).bfloat16().to(one.dtype) for one in results]
    return [*results, *torch.autograd.grad(results, tensors, ups)]


def run(layer: Any, dtype: torch.dtype, **arguments: Any) -> list[Tensor]:
    """Results and gradients of a sequence."""
    torch.manual_seed(1)
    states = layer.num_layers * (2 if layer.bidirectional else 1)
    x, h_0 = values(5, 5, 4, dtype=dtype), values(states, 5, 21, dtype=dtype)
    return with_gradients(layer(x, h_0, **arguments), [x, h_0, *layer.parameters()])


def run_cell(layer: Any, dtype: torch.dtype) -> list[Tensor]:
    """The same of a loop over a cell."""
    torch.manual_seed(1)
    x, h = values(3, 5, 4, dtype=dtype), values(5, 21, dtype=dtype)
    states = [h]
    for step in x:
        states.append(layer(step, states[-1]))
    return with_gradients((states[-1],), [x, h, *layer.parameters()])


def on(backend: str, layer: Any) -> Any:
    other = copy.deepcopy(layer)
    other.backend = backend
    return other


@every_choice
@both_formulas
@pytest.mark.parametrize("form", FORMS)
def test_sequences(form: str, reset: str, chosen: dict[str, str]) -> None:
    options, arguments = FORMS[form]
    layer = make(anygru.GRU, torch.float64, reset=reset, **chosen, **options)
    truth = run(on("reference", layer), torch.float64, **arguments)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        own = make(anygru.GRU, dtype, reset=reset, **chosen, **options)
        all_close(run(on("cpu", own), dtype, **arguments), truth, times=4, dtype=dtype)


@every_choice
@both_formulas
def test_steps(reset: str, chosen: dict[str, str]) -> None:
    """A loop over a cell, a stream and a pool; with bits that do not depend on the other rows."""
    cell = make(anygru.GRUCell, torch.float64, reset=reset, **chosen)
    all_close(run_cell(cell, torch.float64), run_cell(on("reference", cell), torch.float64))
    layer, x = make(anygru.GRU, torch.float32, reset=reset, **chosen), torch.randn(4, 9, 4)
    pool, stream = anygru.SessionPool(layer, 9), layer.stream(batch_size=9)
    sessions = [pool.open() for _ in range(9)]
    alone = layer.stream()
    with torch.no_grad():
        output = layer(x)[0]
        assert torch.equal(torch.stack([stream.step(step) for step in x]), output)
        assert torch.equal(torch.stack([alone.step(step[3]) for step in x]), output[:, 3])
    for step, expected in zip(x, output, strict=True):
        for rows in ([3], [8, 0, 1, 7, 4, 2], [6, 5]):
            assert torch.equal(pool.step([sessions[row] for row in rows], step[rows]), expected[rows])


@every_choice
@both_formulas
@pytest.mark.parametrize("weights", ["float32", "bfloat16", "int8"])
def test_frozen_layers(weights: str, reset: str, chosen: dict[str, str]) -> None:
    layer = make(anygru.GRU, torch.float32, reset=reset, **chosen)
    x, frozen = torch.randn(7, 3, 4), layer.freeze(weights)
    assert "packed once" in str(anygru.explain(frozen, x))
    found, expected = frozen(x)[0], on("reference", layer).freeze(weights)(x)[0]
    torch.testing.assert_close(found, expected, rtol=1e-3 if weights == "int8" else 1e-4, atol=1e-4)
    if weights == "float32":
        assert torch.equal(found, layer(x)[0])


@every_choice
@both_formulas
def test_derivatives_against_differences(reset: str, chosen: dict[str, str]) -> None:
    cell = make(anygru.GRUCell, torch.float64, 3, reset=reset, **chosen)
    torch.manual_seed(2)
    x, h = values(2, 4, dtype=torch.float64), values(2, 3, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x, h, *_: cell(x, h), (x, h, *cell.parameters()))
    assert torch.autograd.gradgradcheck(cell, (x, h))


@both_formulas
def test_instruction_sets(kernels: str, reset: str) -> None:
    for chosen in CHOICES:
        layer = make(anygru.GRU, torch.float64, reset=reset, **chosen)
        truth = run(on("reference", layer), torch.float64)
        for dtype in (torch.float64, torch.float32):
            own = make(anygru.GRU, dtype, reset=reset, **chosen)
            all_close(run(own, dtype), truth, times=4, dtype=dtype, **chosen)


def test_all_magnitudes() -> None:
    """Through a layer with the argument as its only input and a closed update gate."""
    magnitudes = torch.logspace(-30, 30, 20_001)
    x = torch.cat([magnitudes, -magnitudes, torch.tensor([0.0, -0.0, 3.0, -3.0, 20.0])]).requires_grad_()
    zero = torch.zeros(3, 1)
    weights = [torch.tensor([[0.0], [0.0], [1.0]]), zero, torch.tensor([0.0, -float("inf"), 0.0]), zero[:, 0]]
    for name, function in ACTIVATIONS.items():
        found = anygru.functional.gru(x.view(1, -1, 1), None, weights, activation=name)[0].flatten()
        exact = x.detach().double().requires_grad_()
        # (torch 2.4 subtracts 1 from exp(x) in elu, which is 0 near the origin.)
        truth = torch.where(exact > 0, exact, exact.clamp(max=0).expm1()) if name == "elu" else function(exact)
        # Of a value near 0 far from the origin, as of gelu, torch has no more digits.
        error = (found.double() - truth).abs() / (truth.abs() + 1e-3 * exact.abs().clamp(1e-30, 1))
        assert error.max() <= 1e-6, name
        slopes = [
            torch.autograd.grad(values.sum(), given)[0].double() for values, given in ((found, x), (truth, exact))
        ]
        assert (slopes[0] - slopes[1]).abs().max() <= 2e-6, name


def test_one_list() -> None:
    with pytest.raises(ValueError, match="there is no activation mish"):
        native.Kind(False, True, False, False, activation="mish")
    for chosen in CHOICES:
        assert anygru.explain(anygru.GRU(3, 4, **chosen), torch.zeros(5, 2, 3)).backend == "cpu", chosen
