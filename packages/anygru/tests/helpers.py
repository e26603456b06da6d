"""Shared by the tests: an independent GRU in float64 NumPy, tolerances, and a table of problems."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from anygru.backends.cpu_calls import native
from anygru.facts.formula import Formula
from anygru.facts.modifiers import NONE, Modifiers
from anygru.facts.problem import Problem
from anygru.facts.weights import Layout

TOLERANCE = {
    torch.float64: {"rtol": 1e-10, "atol": 1e-11},
    torch.float32: {"rtol": 2e-5, "atol": 2e-6},
    torch.float16: {"rtol": 4e-3, "atol": 4e-3},
    torch.bfloat16: {"rtol": 3e-2, "atol": 3e-2},
}
"""By the dtype of the tensors; atol for values up to 1, and in proportion for larger ones: sums round at their terms' size."""


def needs_dialects(*names: str) -> pytest.MarkDecorator:
    """Skip a test of the core where it is installed without these dialects, as `make test-versions` does."""
    missing = [name for name in names if find_spec(f"anygru_{name}") is None]
    return pytest.mark.skipif(bool(missing), reason="needs " + ", ".join(f"anygru-{name}" for name in missing))


def _older(package: str, *version: int) -> bool:
    """Whether an older version of a package is installed, such as the lowest that anygru takes."""
    found = find_spec(package) and metadata.version(package)
    return bool(found) and tuple(map(int, found.split(".")[:2])) < version


needs_new_keras = pytest.mark.skipif(_older("keras", 3, 8), reason="needs Keras 3.8: an older one lacks the activation")


def mostly_slow(cases: Iterable[Any], short: int = 1) -> list[Any]:
    """The cases of a test. `make test` runs the first ones; the rest are slow, and `make test-all` runs them."""
    return [
        case
        if number < short
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]


def with_kernels(names: Iterable[str]) -> Any:
    """A fixture that runs a test with the native kernels of each name."""

    @pytest.fixture(params=list(names))
    def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
        before = native.isa()
        native.use(request.param)
        yield request.param
        native.use(before)

    return kernels


def close(actual: torch.Tensor, expected: torch.Tensor, times: float = 1.0, **context: object) -> None:
    """Asserts equality within a multiple of the tolerance of `actual`'s dtype, NaN equal to NaN."""
    expected = torch.as_tensor(expected)
    rtol, atol = times * TOLERANCE[actual.dtype]["rtol"], times * TOLERANCE[actual.dtype]["atol"]
    finite = expected.detach()[expected.detach().isfinite()].abs()
    atol *= max(1.0, finite.max().item() if finite.numel() else 1.0)
    assert actual.shape == expected.shape, (actual.shape, expected.shape, context)
    torch.testing.assert_close(
        actual.detach().double(),
        expected.detach().double(),
        equal_nan=True,
        rtol=rtol,
        atol=atol,
        msg=lambda message: f"{message}\n{context}" if context else message,
    )


def all_close(
    actual: Iterable[torch.Tensor], expected: Iterable[torch.Tensor], times: float = 1.0, **context: object
) -> None:
    """`close` for each pair."""
    for one, other in zip(actual, expected, strict=True):
        close(one, other, times, **context)


class Case(NamedTuple):
    """The sizes of a problem; lengths make it ragged."""

    T: int = 5
    B: int = 3
    I: int = 4  # noqa: E741
    H: int = 6
    L: int = 1
    bidirectional: bool = False
    bias: bool = True
    reset: str = "after"
    lengths: tuple[int, ...] | None = None

    @property
    def D(self) -> int:
        return 2 if self.bidirectional else 1

    def weights(self, dtype: torch.dtype = torch.float64, scale: float = 0.6, seed: int = 0) -> list[torch.Tensor]:
        """Flat weights in torch's order, requiring gradients."""
        generator = torch.Generator().manual_seed(seed)
        shapes = []
        for layer in range(self.L):
            features = self.I if layer == 0 else self.D * self.H
            own = [(3 * self.H, features), (3 * self.H, self.H), (3 * self.H,), (3 * self.H,)]
            shapes += (own if self.bias else own[:2]) * self.D
        return [
            (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype).requires_grad_()
            for shape in shapes
        ]

    def input(self, dtype: torch.dtype = torch.float64, seed: int = 1) -> torch.Tensor:
        """[T, B, I], requiring gradients."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(self.T, self.B, self.I, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

    def h_0(self, dtype: torch.dtype = torch.float64, seed: int = 2) -> torch.Tensor:
        """[L*D, B, H], requiring gradients."""
        generator = torch.Generator().manual_seed(seed)
        shape = (self.L * self.D, self.B, self.H)
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

    @property
    def options(self) -> dict:
        """The keyword arguments of `functional.gru`."""
        lengths = {} if self.lengths is None else {"lengths": self.lengths}
        return {"bidirectional": self.bidirectional, "bias": self.bias, "reset": self.reset, **lengths}


def make_problem(
    case: Case, dtype: torch.dtype = torch.float32, needs_grad: bool = False, modifiers: Modifiers = NONE
) -> Problem:
    """The facts of a call of a case on the CPU."""
    layout, ragged = Layout(case.L, case.bidirectional, case.bias), case.lengths is not None
    facts = ("cpu", dtype, layout, Formula(case.reset), ragged, False, needs_grad, False)
    return Problem(*facts, modified=modifiers.names())


CASES = {
    "plain": Case(),
    "one of each": Case(T=1, B=1, I=1, H=1),
    "no bias": Case(bias=False),
    "deep": Case(L=3, T=4),
    "two directions": Case(bidirectional=True),
    "deep, two directions, no bias": Case(L=2, bidirectional=True, bias=False),
    "odd sizes": Case(T=7, B=5, I=13, H=17),
    "wide": Case(T=2, B=33, I=3, H=67),
    "no steps": Case(T=0, L=2),
    "no sequences": Case(B=0, bidirectional=True),
    "ragged": Case(T=6, B=5, lengths=(3, 6, 1, 6, 2)),
    "ragged with empty ones": Case(T=5, B=4, L=2, bidirectional=True, lengths=(0, 5, 0, 2)),
    "ragged, all empty": Case(T=3, B=2, lengths=(0, 0)),
}
CASES |= {f"{name}, reset before": case._replace(reset="before") for name, case in CASES.items()}


def sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-x))


def numpy_sequence(
    x: np.ndarray,
    h: np.ndarray,
    weights: list[np.ndarray],
    reset: str,
    reverse: bool = False,
    decay: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """One sequence [T, I] through one direction, gate by gate, in float64: outputs [T, H] and the last state [H]."""
    w_ih, w_hh = weights[:2]
    H = w_hh.shape[1]
    b_ih, b_hh = weights[2:] if len(weights) == 4 else (np.zeros(3 * H), np.zeros(3 * H))
    outputs = np.zeros((len(x), H))
    for t in range(len(x))[::-1] if reverse else range(len(x)):
        h = h if decay is None else decay[t] * h
        r = sigmoid(w_ih[:H] @ x[t] + b_ih[:H] + w_hh[:H] @ h + b_hh[:H])
        z = sigmoid(w_ih[H : 2 * H] @ x[t] + b_ih[H : 2 * H] + w_hh[H : 2 * H] @ h + b_hh[H : 2 * H])
        if reset == "after":
            n = np.tanh(w_ih[2 * H :] @ x[t] + b_ih[2 * H :] + r * (w_hh[2 * H :] @ h + b_hh[2 * H :]))
        else:
            n = np.tanh(w_ih[2 * H :] @ x[t] + b_ih[2 * H :] + w_hh[2 * H :] @ (r * h) + b_hh[2 * H :])
        h = (1 - z) * n + z * h
        outputs[t] = h
    return outputs, h


def numpy_gru(
    case: Case, x: np.ndarray, h_0: np.ndarray, weights: list[np.ndarray], decay: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The whole case, each sequence alone: output [T, B, D*H] with zeros past a sequence's end, h_n [L*D, B, H].

    decay: [L*D, T, B, H]; each step multiplies its state by it first.
    """
    per = 4 if case.bias else 2
    lengths = case.lengths or (case.T,) * case.B
    output = np.zeros((case.T, case.B, case.D * case.H))
    h_n = np.array(h_0)
    for b, length in enumerate(lengths):
        below = x[:length, b]
        for layer in range(case.L):
            results = []
            for direction in range(case.D):
                k = layer * case.D + direction
                own = weights[k * per : (k + 1) * per]
                factors = None if decay is None else decay[k, :, b]
                out, h_n[k, b] = numpy_sequence(below, h_0[k, b], own, case.reset, direction == 1, factors)
                results.append(out)
            below = np.concatenate(results, -1)
        output[:length, b] = below
    return output, h_n


def next_state(
    x: torch.Tensor,
    h: torch.Tensor,
    products: Sequence[Callable[[torch.Tensor], torch.Tensor]],
    biases: Sequence[torch.Tensor],
    reset: str,
) -> torch.Tensor:
    """The next state of one sequence [H] in float64, from products of one row with weight_ih and weight_hh."""
    b_ih, b_hh = (bias.double() for bias in biases)
    i_r, i_z, i_n = (products[0](x).double() + b_ih).chunk(3)
    h_r, h_z, h_n = (products[1](h).double() + b_hh).chunk(3)
    r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
    if reset == "before":
        h_n = products[1](r.float() * h).double().chunk(3)[2] + b_hh.chunk(3)[2]
    n = torch.tanh(i_n + (h_n if reset == "before" else r * h_n))
    return (n + z * (h.double() - n)).float()


def detached(tensors: list[torch.Tensor]) -> list[np.ndarray]:
    """As float64 NumPy arrays."""
    return [tensor.detach().double().numpy() for tensor in tensors]
