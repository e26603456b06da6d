"""The GPU kernels in Triton's interpreter, on the CPU. `test_triton.py` runs this file in a separate process.

Triton decides at its import whether it interprets, and the other tests of that process would find it interpreting.
"""

from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
from helpers import Case, all_close, close
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from anygru.backends import triton_plan
from anygru.functional import gru

ALONE = {"PRECISION": "ieee", "BM": 16}
SPREAD = {"PRECISION": "ieee", "AMD": False, "BM": 16, "BN": 16, "BK": 16, "SLICES": 2}


def alone(hidden: int, batch: int, directions: int, *rest: object) -> triton_plan.Plan:
    width = max(16, 1 << (hidden - 1).bit_length())
    return triton_plan.Plan(True, {**ALONE, "BH": width}, -(-batch // 16), directions)


def resident(hidden: int, batch: int, directions: int, *rest: object) -> triton_plan.Plan:
    """For up to 32 hidden units; two groups of programs, which share the batch."""
    return triton_plan.Plan(False, {**SPREAD, "RESIDENT": True}, 2 * -(-hidden // 16), directions)


def streamed(hidden: int, batch: int, directions: int, *rest: object) -> triton_plan.Plan:
    """The directions in sequence, three programs for all tiles."""
    return triton_plan.Plan(False, {**SPREAD, "RESIDENT": False}, 3, 1)


PLANS = {"alone": alone, "resident": resident, "streamed": streamed}
FEW = {
    "one of each": Case(T=1, B=1, I=1, H=1),
    "ragged, deep": Case(T=3, B=4, I=3, H=5, L=2, lengths=(3, 0, 1, 3)),
    "two directions, no bias": Case(T=2, B=2, I=3, H=18, bidirectional=True, bias=False),
    "two directions, ragged": Case(T=3, B=17, I=2, H=3, bidirectional=True, lengths=(2, *(1,) * 14, 3, 0)),
}
MORE = {
    "several tiles": Case(T=3, B=33, I=3, H=31),
    "deep": Case(T=4, B=3, I=4, H=6, L=3, bidirectional=True),
    "long": Case(T=17, B=2, I=3, H=7),
    "no bias": Case(T=5, B=16, I=3, H=32, bias=False),
    "ragged with empty ones": Case(T=5, B=4, H=18, L=2, bidirectional=True, lengths=(0, 5, 0, 2)),
}


@pytest.fixture
def _bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter of Triton 3.9 keeps bfloat16 as 16 bits, and its products take these for integers."""
    product = InterpreterBuilder.create_dot

    def widened(handle: TensorHandle) -> TensorHandle:
        if handle.data.dtype != np.uint16:
            return handle
        return TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), tl.float32)

    def create_dot(self: InterpreterBuilder, a: TensorHandle, b: TensorHandle, *rest: Any) -> TensorHandle:
        return product(self, widened(a), widened(b), *rest)

    monkeypatch.setattr(InterpreterBuilder, "create_dot", create_dot)


def table(cases: dict[str, Case]) -> list:
    """Each case with each plan, the formulas taking turns in the small table."""
    found = []
    for number, (plan, (name, case)) in enumerate((plan, case) for plan in PLANS for case in cases.items()):
        for reset in ("after", "before"):
            small = cases is FEW and reset == ("after", "before")[number % 2] and number % 3 == 0
            marks = () if small or (cases is FEW and plan == "alone") else pytest.mark.slow
            found.append(pytest.param(plan, case._replace(reset=reset), id=f"{name}, {plan}, {reset}", marks=marks))
    return found


def check(case: Case, dtype: torch.dtype, decay: torch.Tensor | None = None, **options: object) -> None:
    """Values and all gradients against the reference in float64, on the same numbers."""
    found = {}
    for backend, kind in (("triton", dtype), ("reference", torch.float64)):
        given = [*case.weights(dtype), case.input(dtype), case.h_0(dtype)]
        given += [] if decay is None else [decay.to(dtype).requires_grad_()]
        given = [tensor.detach().to(kind).requires_grad_() for tensor in given]
        weights, (x, h_0, *rest) = given[: -2 - (decay is not None)], given[-2 - (decay is not None) :]
        changes = {"decay": rest[0]} if rest else {}
        output, h_n = gru(x, h_0, weights, backend=backend, **case.options, **changes, **options)
        upstream = [torch.linspace(-1, 1, t.numel(), dtype=dtype).to(kind).view(t.shape) for t in (output, h_n)]
        found[backend] = (output, h_n, *torch.autograd.grad((output, h_n), given, upstream))
    for index, (actual, expected) in enumerate(zip(*found.values(), strict=True)):
        close(actual, expected, tensor=index)


@pytest.mark.parametrize(("plan", "case"), table(FEW) + table(MORE))
def test_values_and_gradients(plan: str, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_plan, "plan", PLANS[plan])
    check(case, torch.float32)


@pytest.mark.usefixtures("_bfloat16")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("plan", ["alone", pytest.param("resident", marks=pytest.mark.slow)])
def test_half_precision(plan: str, reset: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_plan, "plan", PLANS[plan])
    check(Case(T=3, B=2, I=3, H=5, reset=reset), dtype)


@pytest.mark.parametrize("reset", ["after", pytest.param("before", marks=pytest.mark.slow)])
@pytest.mark.parametrize("wide", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("plan", ["alone", "resident", pytest.param("streamed", marks=pytest.mark.slow)])
def test_decay(plan: str, wide: bool, reset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_plan, "plan", PLANS[plan])
    case = Case(T=3, B=2, I=2, H=5, reset=reset, bidirectional=wide, lengths=(3, 2) if wide else None)
    decay = torch.rand(2, case.T, case.B, case.H) if wide else torch.rand(case.T, case.B, 1)
    decay[..., 1, 0, :] = 0
    check(case, torch.float32, decay)


def test_a_reset_forgets_a_state_that_is_not_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(T=3, B=2, I=2, H=5)
    x, h_0 = case.input(torch.float32).detach(), case.h_0(torch.float32).detach()
    h_0[0, 0, 2] = float("nan")
    resets = torch.tensor([[True, False], [False, True], [False, False]])
    results = [
        gru(x, h_0, case.weights(torch.float32), resets=resets, backend=name) for name in ("triton", "reference")
    ]
    assert results[1][0].isfinite().all()
    close(results[0][0], results[1][0])


def test_a_reversed_layer_and_strided_tensors() -> None:
    case = Case(T=3, B=2, I=2, H=5)
    check(case, torch.float32, reverse=True)
    x, weights = case.input(torch.float32).detach(), [weight.detach() for weight in case.weights(torch.float32)]
    h_0 = case.h_0(torch.float32).detach()
    expected, _ = gru(x, h_0, weights, backend="reference")
    wide = torch.zeros(case.B, 2 * case.T, case.I)
    wide[:, ::2] = x.transpose(0, 1)
    strided = [weight.t().contiguous().t() for weight in weights]
    output, _ = gru(wide[:, ::2], h_0.expand(3, 1, 2, 5)[1], strided, batch_first=True, backend="triton")
    close(output.transpose(0, 1), expected)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")  # NumPy's, of the interpreter
def test_unusual_numbers() -> None:
    case = Case(T=3, B=4, I=2, H=3)
    x, h_0 = case.input(torch.float32).detach(), case.h_0(torch.float32).detach()
    x[1, :, 1] = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e4])
    results = [gru(x, h_0, case.weights(torch.float32), backend=name)[0] for name in ("triton", "reference")]
    assert results[1].isnan().any()
    close(*results)


def test_some_weights_frozen_and_the_output_changed_in_place() -> None:
    case = Case(T=2, B=2, I=3, H=4, L=2, reset="before")
    found = []
    for backend in ("triton", "reference"):
        x, h_0 = case.input(torch.float32).detach(), case.h_0(torch.float32).detach()
        weights = [w.detach().requires_grad_(index % 3 == 0) for index, w in enumerate(case.weights(torch.float32))]
        output, _ = gru(x, h_0, weights, backend=backend, reset="before")
        output = output.mul_(2) if backend == "triton" else output * 2
        # The forward pass of the kernels is repeated in here, and its products must not change.
        with torch.autocast("cpu", enabled=backend == "triton"):
            found.append(torch.autograd.grad(output.sum(), [weight for weight in weights if weight.requires_grad]))
    all_close(*found)


def test_second_derivatives() -> None:
    case = Case(T=2, B=1, I=2, H=2, reset="before")
    found = []
    for backend in ("triton", "reference"):
        x, h_0 = case.input(torch.float32), case.h_0(torch.float32)
        output, _ = gru(x, h_0, case.weights(torch.float32), backend=backend, reset="before")
        (grad,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
        found.append(torch.autograd.grad(grad.square().sum(), (x, h_0)))
    all_close(*found)
