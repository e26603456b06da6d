"""Products of bfloat16 terms on matrix units and on the tiles in memory that repeat them: the formula of docs/kernels.md."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
import torch
from helpers import Case, close, make_problem, next_state, with_kernels
from torch import Tensor

from anygru.backends import reference
from anygru.backends.cpu_prepared import Prepared
from anygru.facts.problem import Call
from anygru.facts.quantization import Stored, quantize

native = pytest.importorskip("anygru._native", reason="anygru was installed without its native kernels")
pytestmark = pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")

GREATEST = float(torch.finfo(torch.bfloat16).max)
INFINITY, NAN = float("inf"), float("nan")


def precisions_of(name: str) -> list[str]:
    before = native.isa()
    native.use(name)
    try:
        return native.precisions()
    finally:
        native.use(before)


PRECISE = [name for name in native.frozen_variants() if "bfloat16" in precisions_of(name)]
TILED = [name for name in PRECISE if "high" in precisions_of(name)]
TERMS = {"frozen": (2, 1), "frozen rows": (1, 1), "high": (3, 3), "float16": (2, 2), "bfloat16": (1, 1)}
LOWER = ("high", "float16", "bfloat16")
ONE_TERM = ("bfloat16", "frozen rows")


tiled = with_kernels(TILED)
precise = with_kernels(PRECISE)
variant = with_kernels(native.frozen_variants())


def make_batch(case: Case) -> tuple[Tensor, Tensor, list[Tensor]]:
    scale = 0.5 / case.H**0.5
    weights = [weight.detach().float() for weight in case.weights(scale=scale)]
    return case.input(torch.float32).detach(), case.h_0(torch.float32).detach(), weights


def run(case: Case, precision: str, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], threads: int = 1) -> Tensor:
    kind = native.Kind(case.bidirectional, case.bias, case.reset == "before", False, False, precision)
    output: Tensor = native.dense(input, h_0, list(weights), kind, threads, False)[0]
    return output


def flushed(values: np.ndarray) -> np.ndarray:
    """Denormal numbers as zeros."""
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), values), values)


def first_term(x: np.ndarray) -> np.ndarray:
    rounded = torch.from_numpy(x).bfloat16().float().numpy()
    cut = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x) & ~np.isfinite(rounded), cut, rounded)


def terms(x: np.ndarray, count: int) -> list[np.ndarray]:
    found = [first_term(x)]
    with np.errstate(invalid="ignore"):
        for _ in range(1, count):
            x = np.where(np.isfinite(found[-1]), x - found[-1], np.float32(0))
            found.append(first_term(x))
    return found


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c rounded once: products of bfloat16 are exact in float64, and so nearly always is the sum."""
    return flushed((flushed(a).astype(np.float64) * flushed(b) + c).astype(np.float32))


def product(row: Tensor, matrix: Tensor, kind: str) -> Tensor:
    """The sums of the three gates for one row."""
    depth = -(-len(row) // 32) * 32
    row_terms, weight_terms = TERMS[kind]
    x = terms(np.pad(row.numpy(), (0, depth - len(row))), row_terms)
    w = terms(np.pad(matrix.numpy(), ((0, 0), (0, depth - len(row)))), weight_terms)
    most = max(row_terms, weight_terms)
    pairs = [(i, j) for j in range(weight_terms) for i in range(row_terms) if i + j < most]
    total = np.zeros(len(matrix), np.float32)
    if native.isa() == "avx512_bf16":
        return product_of_pairs(row, matrix)
    with np.errstate(invalid="ignore", over="ignore"):
        for k in range(0, depth, 32):
            for i, j in pairs:
                even = odd = np.zeros(len(matrix), np.float32)
                for at in range(k, k + 32, 2):
                    even = fused(x[i][at], w[j][:, at], even)
                    odd = fused(x[i][at + 1], w[j][:, at + 1], odd)
                total = flushed(flushed(total) + flushed(even + odd))
    return torch.from_numpy(total)


def product_of_pairs(row: Tensor, matrix: Tensor) -> Tensor:
    """The same as AVX512_BF16 adds it."""
    x, w = first_term(np.pad(row.numpy(), (0, 1))), first_term(np.pad(matrix.numpy(), ((0, 0), (0, 1))))
    total = np.zeros(len(matrix), np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        for at in range(0, len(row), 2):
            total = fused(x[at], w[:, at], fused(x[at + 1], w[:, at + 1], total))
    return torch.from_numpy(total)


def step(x: Tensor, h: Tensor, weights: Sequence[Tensor], reset: str, kind: str) -> Tensor:
    return next_state(x, h, [partial(product, matrix=weight, kind=kind) for weight in weights[:2]], weights[2:], reset)


def run_kind(case: Case, kind: str, input: Tensor, h_0: Tensor, weights: Sequence[Tensor]) -> Tensor:
    if not kind.startswith("frozen"):
        return run(case, kind, input, h_0, weights)
    stored = [quantize(weight, "bfloat16") for weight in weights]
    problem = make_problem(case)._replace(precision="bfloat16" if kind == "frozen rows" else "highest")
    return Prepared(problem, stored).run(Call(input, h_0, ()))[0]


@pytest.mark.parametrize("kind", TERMS)
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize(
    ("features", "hidden", "batch"), [(1, 1, 1), (7, 21, 3), (70, 40, 6), (33, 65, 17), (8, 130, 37)]
)
def test_steps_are_those_of_the_docs(
    precise: str, kind: str, reset: str, features: int, hidden: int, batch: int
) -> None:
    if precise not in TILED and kind not in ONE_TERM:
        pytest.skip(f"{precise} has no kernels for {kind}")
    case = Case(T=1, B=batch, I=features, H=hidden, reset=reset)
    input, h_0, weights = make_batch(case)
    if kind.startswith("frozen"):
        weights = [weight.bfloat16().float() if weight.dim() == 2 else weight for weight in weights]
    actual = run_kind(case, kind, input, h_0, weights)
    rows = sorted({0, batch // 2, batch - 1})
    expected = torch.stack([step(input[0, b], h_0[0, b], weights, reset, kind) for b in rows])
    # r * h is rounded again, where another last bit of r may give another bfloat16.
    tolerance = 2e-4 if kind in ONE_TERM and reset == "before" else 1e-6
    torch.testing.assert_close(actual[0, rows], expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("kind", TERMS)
@pytest.mark.parametrize("reset", ["after", "before"])
def test_a_sequence_has_the_same_bits_in_every_batch_and_in_chunks(precise: str, kind: str, reset: str) -> None:
    if kind not in ("frozen", "frozen rows", *native.precisions()):
        pytest.skip(f"{precise} has no kernels for {kind}")
    case = Case(T=4, B=37, I=70, H=40, reset=reset)
    input, h_0, weights = make_batch(case)
    whole = run_kind(case, kind, input, h_0, weights)
    for rows in ([3], [36, 3], [0, 5, 3, 7], [9, 4, 3, 2, 8], list(range(1, 18)), list(range(20, 37))):
        part = run_kind(case, kind, input[:, rows].contiguous(), h_0[:, rows].contiguous(), weights)
        assert torch.equal(part, whole[:, rows])
    first = run_kind(case, kind, input[:1], h_0, weights)
    rest = run_kind(case, kind, input[1:], first[-1:].contiguous(), weights)
    assert torch.equal(torch.cat([first, rest]), whole)


@pytest.mark.parametrize("precision", LOWER)
def test_threads_do_not_change_bits(precise: str, precision: str) -> None:
    if precision not in native.precisions():
        pytest.skip(f"{precise} has no kernels for {precision}")
    for case in (Case(T=12, B=1, I=64, H=160), Case(T=12, B=40, I=20, H=48, bidirectional=True, reset="before")):
        input, h_0, weights = make_batch(case)
        alone = run(case, precision, input, h_0, weights)
        for threads in (2, 3):
            assert torch.equal(run(case, precision, input, h_0, weights, threads), alone)


def test_tiles_and_a_matrix_unit_give_the_same_bits() -> None:
    if len(TILED) < 2:
        pytest.skip("this machine has no matrix unit")
    case = Case(T=5, B=21, I=70, H=45, L=2, bidirectional=True)
    input, h_0, weights = make_batch(case)
    before = native.isa()
    try:
        for kind in TERMS:
            found = []
            for name in TILED:
                native.use(name)
                found.append(run_kind(case, kind, input, h_0, weights))
            assert torch.equal(found[0], found[1])
    finally:
        native.use(before)


def error(actual: Tensor, exact: Tensor) -> float:
    return float((actual.double() - exact).abs().max())


def test_errors_against_float64(tiled: str) -> None:
    case = Case(T=20, B=20, I=64, H=256)
    input, h_0, weights = make_batch(case)
    problem = make_problem(case)._replace(dtype=torch.float64)

    def exact(own: Sequence[Tensor]) -> Tensor:
        doubles = [weight.double() for weight in own]
        return reference.run(problem, Call(input.double(), h_0.double(), doubles, None))[0]

    truth = exact(weights)
    of_float32 = error(run(case, "highest", input, h_0, weights), truth)
    assert error(run(case, "high", input, h_0, weights), truth) < 4 * of_float32
    assert error(run(case, "float16", input, h_0, weights), truth) < 2e-5
    halves = [weight.bfloat16().float() if weight.dim() == 2 else weight for weight in weights]
    assert error(run_kind(case, "frozen", input, h_0, halves), exact(halves)) < 1e-5  # rounded weights: 5e-3
    torch_module = torch.nn.GRU(64, 256).bfloat16()
    for own, weight in zip(torch_module.parameters(), weights, strict=True):
        own.data = weight.bfloat16()
    with torch.no_grad():
        of_torch = error(torch_module(input.bfloat16(), h_0.bfloat16())[0], truth)
    assert error(run(case, "bfloat16", input, h_0, weights), truth) < of_torch


@pytest.mark.parametrize("kind", TERMS)
@pytest.mark.parametrize("batch", [2, 9])
def test_infinity_nan_and_the_ends_of_the_range(precise: str, kind: str, batch: int) -> None:
    if precise not in TILED and kind not in ONE_TERM:
        pytest.skip(f"{precise} has no kernels for {kind}")
    case = Case(T=1, B=batch, I=6, H=17)
    special = [INFINITY, -INFINITY, NAN, 3.4e38, -3.4e38, 1e-40, 1e-30, GREATEST, 3e38]
    input, h_0, weights = make_batch(case)
    weights = [weight.bfloat16().float() if weight.dim() == 2 else weight for weight in weights]
    weights[2] = torch.zeros_like(weights[2])
    for value in special:
        x, h = input.clone(), h_0.clone()
        x[0, 0, 2], h[0, -1, 3] = value, value
        x[0, 1] = 1e-38 * x[0, 1]
        actual = run_kind(case, kind, x, h, weights)
        expected = torch.stack([step(x[0, b], h[0, b], weights, "after", kind) for b in range(batch)])
        close(actual[0], expected, value=value)


@pytest.mark.parametrize("precision", LOWER)
def test_special_weights(tiled: str, precision: str) -> None:
    case = Case(T=1, B=7, I=6, H=17)
    input, h_0, weights = make_batch(case)
    for value in (INFINITY, NAN, 3.4e38, 1e-40):
        own = [weight.clone() for weight in weights]
        own[0][3, 2], own[1][20, 16] = value, value
        actual = run(case, precision, input, h_0, own)
        expected = torch.stack([step(input[0, b], h_0[0, b], own, "after", precision) for b in range(7)])
        close(actual[0], expected, value=value)


@pytest.mark.parametrize("value", [1e-40, 3.4e38, -INFINITY, INFINITY])
def test_packed_special_weights_come_back(tiled: str, value: float) -> None:
    case = Case(I=5, H=17)
    stored = [quantize(weight, "bfloat16") for weight in make_batch(case)[2]]
    stored[0] = Stored(stored[0].values.clone())
    stored[0].values[0, 0] = value
    found = Prepared(make_problem(case), stored).stored()
    assert torch.equal(found[0].values, stored[0].values)


def test_a_precision_without_kernels_gives_the_bits_of_the_highest(variant: str) -> None:
    case = Case(T=3, B=5, I=6, H=17)
    batch = make_batch(case)
    for precision in LOWER:
        if precision not in native.precisions():
            assert torch.equal(run(case, precision, *batch), run(case, "highest", *batch))


def test_float64_knows_one_precision(tiled: str) -> None:
    case = Case(T=3, B=5, I=6, H=17)
    input, h_0, weights = (one if isinstance(one, list) else one.double() for one in make_batch(case))
    weights = [weight.double() for weight in weights]
    assert torch.equal(run(case, "bfloat16", input, h_0, weights), run(case, "highest", input, h_0, weights))


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="precision must be highest, high, float16 or bfloat16, got medium"):
        native.Kind(False, True, False, False, False, "medium")
    before = native.isa()
    reason = native.why_no_tiles()
    if "amx" not in native.frozen_variants():
        assert reason
        with pytest.raises(
            ValueError, match=r"must be one of .*tiles.* on this machine, got amx" if TILED else "one of"
        ):
            native.use("amx")
    assert native.isa() == before


def gradients_of(
    case: Case, precision: str, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], threads: int = 1
) -> list[Tensor]:
    """Of the sum of squares of the output, for input, h_0 and weights."""
    kind = native.Kind(case.bidirectional, case.bias, case.reset == "before", False, False, precision)
    output, h_n, reserve = native.dense(input, h_0, list(weights), kind, threads, True)
    call = {
        "kind": kind, "grad_output": 2 * output, "grad_h_n": torch.zeros_like(h_n), "input": input, "h_0": h_0,
        "weights": list(weights), "output": output, "reserve": reserve, "needs": [True] * 6, "gives_gates": False,
        "threads": threads,
    }  # fmt: skip
    return native.backward_of_layer(call)


@pytest.mark.parametrize("reset", ["after", "before"])
def test_gradients_are_nearer_to_float64_than_those_of_torch(precise: str, reset: str) -> None:
    case = Case(T=12, B=21, I=33, H=70, reset=reset)
    batch = input, h_0, weights = make_batch(case)
    given = [tensor.double().requires_grad_() for tensor in (input, h_0, *weights)]
    problem = make_problem(case)._replace(dtype=torch.float64, needs_grad=True)
    exact = reference.run(problem, Call(given[0], given[1], given[2:], None))[0]
    expected = torch.autograd.grad(exact.square().sum(), given)
    halves = [tensor.bfloat16().requires_grad_() for tensor in (input, h_0, *weights)]
    plain = problem._replace(dtype=torch.bfloat16)
    of_halves = reference.run(plain, Call(halves[0], halves[1], halves[2:], None))[0]
    torchs = torch.autograd.grad(of_halves.square().sum(), halves)
    bounds = {
        "high": [4 * error(*both) for both in zip(gradients_of(case, "highest", *batch), expected, strict=True)],
        "float16": [1e-4 * float(truth.abs().max()) for truth in expected],
        "bfloat16": [error(*both) for both in zip(torchs, expected, strict=True)],
    }
    for precision in native.precisions():
        found = gradients_of(case, precision, *batch)
        for one, truth, bound in zip(found, expected, bounds[precision], strict=True):
            assert error(one, truth) < bound


@pytest.mark.parametrize("reset", ["after", "before"])
def test_gradients_do_not_depend_on_threads(precise: str, reset: str) -> None:
    case = Case(T=6, B=40, I=20, H=80, reset=reset)
    batch = make_batch(case)
    for precision in native.precisions():
        alone = gradients_of(case, precision, *batch)
        again = gradients_of(case, precision, *batch, threads=3)
        assert all(torch.equal(one, other) for one, other in zip(again, alone, strict=True))


def sums_of(precision: str, reset: str, given: dict[str, Tensor], threads: int, adds: bool) -> list[Tensor]:
    """`native.gradients` of everything, over memory that is 1 before."""
    rows, size = given["input"].shape
    hidden = given["previous"].shape[1]
    shapes = ((3 * hidden, size), (3 * hidden, hidden), (3 * hidden,), (3 * hidden,), (rows, size))
    found = [torch.ones(shape) for shape in shapes]
    names = ("weight_ih_gradient", "weight_hh_gradient", "bias_ih_gradient", "bias_hh_gradient", "input_gradient")
    call = {
        "itemsize": 4, "kind": native.Kind(False, True, reset == "before", False, False, precision), "rows": rows,
        "input_size": size, "hidden": hidden, "adds": adds, "adds_input": adds, "threads": threads, **given,
        **dict(zip(names, found, strict=True)),
    }  # fmt: skip
    native.gradients(call)
    return found


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize(("rows", "size", "hidden"), [(3, 7, 5), (40, 50, 33), (300, 17, 90), (530, 3, 16)])
def test_sums_over_rows_against_float64(precise: str, reset: str, rows: int, size: int, hidden: int) -> None:
    columns = 3 if reset == "before" else 4
    generator = torch.Generator().manual_seed(3)
    shapes = {
        "gates": (rows, columns * hidden), "previous": (rows, hidden), "kept": (rows, 4, hidden),
        "input": (rows, size), "weight_ih": (3 * hidden, size),
    }  # fmt: skip
    given = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    wide = {name: tensor.double() for name, tensor in given.items()}
    of_input = wide["gates"][:, -3 * hidden :]
    of_state = wide["gates"][:, : 3 * hidden]
    if reset == "after":
        of_state = torch.cat([of_state[:, hidden:], of_state[:, :hidden]], 1)
    weight_hh = of_state.T @ wide["previous"]
    if reset == "before":
        weight_hh[2 * hidden :] = of_state[:, 2 * hidden :].T @ wide["kept"][:, 3]
    expected = [of_input.T @ wide["input"], weight_hh, of_input.sum(0), of_state.sum(0), of_input @ wide["weight_ih"]]
    for precision in native.precisions():
        bound = {"high": 2e-6, "float16": 2e-5, "bfloat16": 1e-2}[precision]
        found = sums_of(precision, reset, given, 1, False)
        for one, truth in zip(found, expected, strict=True):
            assert error(one, truth) < bound * float(truth.abs().max())
        for one, other in zip(sums_of(precision, reset, given, 1, True), found, strict=True):
            close(one, other + 1)
        for one, other in zip(sums_of(precision, reset, given, 3, False), found, strict=True):
            assert torch.equal(one, other)
