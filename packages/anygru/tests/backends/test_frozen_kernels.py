"""The native kernels for packed weights in float32, bfloat16 and int8: against plain torch, on every instruction set."""

from functools import partial

import pytest
import torch
from helpers import Case, close, make_problem, next_state, with_kernels
from torch import Tensor

from anygru.backends import cpu, reference
from anygru.backends.cpu_prepared import Prepared
from anygru.facts.modifiers import Modifiers
from anygru.facts.problem import Call
from anygru.facts.quantization import Stored, dequantize_all, quantize

native = pytest.importorskip("anygru._native", reason="anygru was installed without its native kernels")
pytestmark = pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")

SHAPES = [
    Case(T=1, B=1, I=3, H=1),
    Case(T=5, B=1, I=4, H=7),
    Case(T=4, B=3, I=5, H=17, L=2, bidirectional=True),
    Case(T=3, B=11, I=9, H=33, reset="before"),
    Case(T=3, B=2, I=70, H=40, bidirectional=True, reset="before", bias=False),
    Case(T=9, B=5, I=6, H=19, L=3),
]
FORMATS = ("float32", "bfloat16", "int8")


variant = with_kernels(native.frozen_variants())


def make_stored(case: Case, weights: str, scale: float = 0.3) -> list[Stored]:
    return [quantize(weight.detach().float(), weights) for weight in case.weights(scale=scale)]


def make_batch(case: Case) -> tuple[Tensor, Tensor]:
    return case.input(torch.float32).detach(), case.h_0(torch.float32).detach()


def int8_product(row: Tensor, matrix: Stored) -> Tensor:
    """The sums of the three gates for one row, bit for bit, by the formulas of docs/kernels.md."""
    values, scale = matrix
    assert scale is not None
    most = row.abs().max().clamp(min=1e-30)
    whole = torch.round(row * (torch.tensor(32512.0) / most)).long()
    total = torch.zeros(len(values))
    for k in range(0, values.shape[1], 512):
        total = total + (values[:, k : k + 512].long() @ whole[k : k + 512]).float()
    return total * scale * (most / 32512.0)


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize(
    ("features", "hidden", "batch"), [(1, 1, 1), (7, 21, 1), (530, 40, 2), (33, 65, 7), (8, 520, 5)]
)
def test_int8_steps_are_those_of_the_docs(variant: str, reset: str, features: int, hidden: int, batch: int) -> None:
    case = Case(T=1, B=batch, I=features, H=hidden, reset=reset)
    stored = make_stored(case, "int8", 0.5 / hidden**0.5)
    input, h_0 = make_batch(case)
    output, h_n = Prepared(make_problem(case), stored).run(Call(input, h_0, ()))
    products = [partial(int8_product, matrix=matrix) for matrix in stored[:2]]
    biases = [one.values for one in stored[2:]]
    expected = torch.stack([next_state(input[0, b], h_0[0, b], products, biases, reset) for b in range(batch)])
    # Rounding of the products is exact, of the gates not: the last bits may differ, and where they are quantised again (r * h)
    # one step more or less.
    close(output[0], expected) if reset == "after" else torch.testing.assert_close(
        output[0], expected, atol=2e-5, rtol=0
    )
    assert torch.equal(h_n[0], output[0])


@pytest.mark.parametrize("case", SHAPES, ids=str)
@pytest.mark.parametrize("weights", ["bfloat16", "int8"])
def test_every_variant_is_near_the_reference(variant: str, weights: str, case: Case) -> None:
    stored, (input, h_0) = make_stored(case, weights), make_batch(case)
    expected = reference.run(make_problem(case), Call(input, h_0, dequantize_all(stored), None))
    actual = Prepared(make_problem(case), stored).run(Call(input, h_0, ()))
    tolerance = 2e-5 if weights == "bfloat16" else 1e-3  # rows are rounded, too
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("weights", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_weights_that_float32_holds_give_the_bits_of_the_plain_layer(variant: str, weights: str, case: Case) -> None:
    if weights == "bfloat16" and not native.why_no_tiles():
        pytest.skip("tiles multiply rows of bfloat16 terms: test_tiles.py")
    stored, (input, h_0) = make_stored(case, weights), make_batch(case)
    plain = cpu.run(make_problem(case), Call(input, h_0, dequantize_all(stored), None))
    packed = Prepared(make_problem(case), stored).run(Call(input, h_0, ()))
    assert all(torch.equal(one, other) for one, other in zip(packed, plain, strict=True))


def test_int8_gives_the_same_bits_on_every_instruction_set_with_fused_multiply_add() -> None:
    case = Case(T=6, B=9, I=530, H=45, L=2, bidirectional=True)
    stored, (input, h_0) = make_stored(case, "int8", 0.1), make_batch(case)
    before, results = native.isa(), []
    for name in native.frozen_variants():
        if name != "baseline":  # also rounds after the multiplication, in the gates
            native.use(name)
            results.append(Prepared(make_problem(case), stored).run(Call(input, h_0, ()))[0])
    native.use(before)
    assert all(torch.equal(result, results[0]) for result in results)


@pytest.mark.parametrize("weights", FORMATS)
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize(("features", "hidden"), [(150, 40), (515, 72), (3, 16)])
def test_a_sequence_has_the_same_bits_in_every_batch(
    variant: str, weights: str, reset: str, features: int, hidden: int
) -> None:
    case = Case(T=7, B=13, I=features, H=hidden, reset=reset)
    prepared, (input, h_0) = Prepared(make_problem(case), make_stored(case, weights, 0.1)), make_batch(case)
    output, h_n = prepared.run(Call(input, h_0, ()))
    for rows in ([3], [12, 3], [0, 5, 3], [9, 4, 3, 2, 8, 7]):
        part, _ = prepared.run(Call(input[:, rows].contiguous(), h_0[:, rows].contiguous(), ()))
        assert torch.equal(part, output[:, rows])
    state, steps = h_0.clone(), []
    for chunk in (input[:3], input[3:4], input[4:]):
        steps.append(prepared.advance(chunk, state, True, True))
    assert torch.equal(torch.cat(steps), output)
    assert torch.equal(state, h_n)
    sizes = torch.tensor([13, 13, 9, 4, 4, 1, 1])
    ragged = prepared.run(Call(torch.cat([input[t, :size] for t, size in enumerate(sizes.tolist())]), h_0, (), sizes))[
        0
    ]
    assert torch.equal(ragged[-1], output[6, 0])
    assert torch.equal(ragged[26:35], output[2, :9])


@pytest.mark.parametrize("weights", FORMATS)
@pytest.mark.parametrize("reset", ["after", "before"])
def test_rows_of_many_states_step_in_place(variant: str, weights: str, reset: str) -> None:
    case = Case(T=3, B=13, I=20, H=40, L=2, reset=reset)
    prepared, (input, h_0) = Prepared(make_problem(case), make_stored(case, weights, 0.1)), make_batch(case)
    output, h_n = prepared.run(Call(input, h_0, ()))
    rows = torch.randperm(30)[:13]
    states = torch.randn(30, 3 + 2 * 40)
    before = states.clone()
    states[rows, 3:] = h_0.transpose(0, 1).flatten(1)
    assert torch.equal(torch.stack([prepared.advance_rows(x, states, 3, rows) for x in input]), output)
    before[rows, 3:] = h_n.transpose(0, 1).flatten(1)
    assert torch.equal(states, before), "the other rows, and the rest of these, are as they were"
    own = states[rows].contiguous()
    assert torch.equal(prepared.advance_rows(input[0], own, 3, None), prepared.advance_rows(input[0], states, 3, rows))


def test_rows_that_do_not_exist_are_refused_and_change_nothing() -> None:
    case = Case(T=1, B=2, I=5, H=8, L=2)
    prepared, (input, _) = Prepared(make_problem(case), make_stored(case, "int8")), make_batch(case)
    states = torch.randn(4, 20)
    before = states.clone()
    for rows, offset in (([0, 4], 0), ([-1, 2], 0), ([0, 1, 2], 0), ([0, 1], 5), ([0, 1], -1)):
        with pytest.raises(ValueError, match="rows must|offset leaves"):
            prepared.advance_rows(input[0], states, offset, torch.tensor(rows))
    for x, other in (
        (input[0, :, :4], states),
        (input[0], states.double()),
        (input[0], states.t()),
        (input[0], states),
    ):
        assert prepared.advance_rows(x, other, 0, None) is None
    assert torch.equal(states, before)


@pytest.mark.parametrize("weights", FORMATS)
def test_threads_do_not_change_bits(weights: str) -> None:
    for case in (Case(T=12, B=1, I=64, H=160), Case(T=12, B=40, I=20, H=48, bidirectional=True, reset="before")):
        prepared, (input, h_0) = Prepared(make_problem(case), make_stored(case, weights, 0.1)), make_batch(case)
        alone = prepared.run(Call(input, h_0, ()))[0]
        for threads in (2, 3):
            torch.set_num_threads(threads)
            try:
                assert torch.equal(prepared.run(Call(input, h_0, ()))[0], alone)
            finally:
                torch.set_num_threads(1)


@pytest.mark.parametrize("weights", FORMATS)
def test_direct_calls_give_the_bits_of_others(weights: str) -> None:
    case = Case(T=5, B=3, I=6, H=10, L=2, bidirectional=True)
    prepared, (input, h_0) = Prepared(make_problem(case), make_stored(case, weights)), make_batch(case)
    for state in (h_0, None):
        found = prepared.direct(input, state)
        assert found is not None
        expected = prepared.run(Call(input, torch.zeros_like(h_0) if state is None else state, ()))
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    first = prepared.direct(input.transpose(0, 1).contiguous().transpose(0, 1), h_0)  # batch first
    assert first is not None
    assert torch.equal(first[0], prepared.run(Call(input, h_0, ()))[0])
    assert prepared.direct(input[..., :5].contiguous(), h_0) is None
    assert prepared.direct(input.double(), h_0.double()) is None
    assert prepared.direct(input, h_0[:1]) is None
    assert prepared.direct_cell(input[0], h_0[0]) is None  # no cell has two layers
    one = Case(T=1, B=3, I=6, H=10)
    cell = Prepared(make_problem(one), make_stored(one, weights))
    input, h_0 = make_batch(one)
    expected = cell.run(Call(input, h_0, ()))[0]
    assert torch.equal(cell.direct_cell(input[0], h_0[0]), expected[0])
    assert torch.equal(cell.direct_cell(input[0, 1], h_0[0, 1]), expected[0, 1])


@pytest.mark.parametrize("weights", FORMATS)
def test_resets_and_decays(weights: str) -> None:
    case = Case(T=6, B=4, I=5, H=18, L=2, bidirectional=True)
    stored, (input, h_0) = make_stored(case, weights), make_batch(case)
    decay = torch.rand(4, 6, 4, 18)
    decay[:, 2] = 0
    modifiers = Modifiers(decay)
    problem = make_problem(case, modifiers=modifiers)
    actual = Prepared(problem, stored).run(Call(input, h_0, (), None, modifiers))
    expected = reference.run(problem, Call(input, h_0, dequantize_all(stored), None, modifiers))
    torch.testing.assert_close(actual, expected, atol=1e-3 if weights == "int8" else 2e-5, rtol=0)


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("hidden", [5, 40])
def test_infinity_and_nan_behave_as_in_float32(variant: str, reset: str, hidden: int) -> None:
    case = Case(T=4, B=7, I=6, H=hidden, reset=reset)
    stored, (input, h_0) = make_stored(case, "int8", 0.5), make_batch(case)
    input[1, 0, 2], input[2, 1, 3], input[0, 2, 0] = float("inf"), float("-inf"), float("nan")
    h_0[0, 3, 1], h_0[0, 4, 4], input[3, 5, 1] = float("inf"), float("nan"), 3e38
    actual = Prepared(make_problem(case), stored).run(Call(input, h_0, ()))[0]
    expected = reference.run(make_problem(case), Call(input, h_0, dequantize_all(stored), None))[0]
    assert torch.equal(actual.isnan(), expected.isnan())
    assert torch.equal(actual.isinf(), expected.isinf())
    torch.testing.assert_close(actual, expected, atol=1e-3, rtol=0, equal_nan=True)


@pytest.mark.parametrize("scale", [1e-36, 1e-3, 1e3, 1e30])
def test_inputs_and_states_of_any_scale(scale: float) -> None:
    case = Case(T=3, B=4, I=32, H=48)
    stored, (input, h_0) = make_stored(case, "int8", 0.3), make_batch(case)
    exact = dequantize_all(stored)
    for x, h in ((input * scale, h_0), (input, h_0 * min(scale, 1e3))):
        actual = Prepared(make_problem(case), stored).run(Call(x, h, ()))[0]
        expected = reference.run(make_problem(case), Call(x, h, exact, None))[0]
        torch.testing.assert_close(actual, expected, atol=2e-3 * max(1.0, float(h.abs().max())), rtol=0)


@pytest.mark.parametrize("weights", FORMATS)
@pytest.mark.parametrize(
    "case",
    [Case(I=5, H=17, L=2, bidirectional=True), Case(I=515, H=33, reset="before"), Case(I=70, H=300, bias=False)],
    ids=str,
)
def test_weights_come_back_as_they_went_in(variant: str, weights: str, case: Case) -> None:
    stored = make_stored(case, weights)
    for one, other in zip(Prepared(make_problem(case), stored).stored(), stored, strict=True):
        assert one.values.dtype is other.values.dtype
        assert torch.equal(one.values, other.values)
        assert (one.scale is None) == (other.scale is None)
        assert one.scale is None or other.scale is None or torch.equal(one.scale, other.scale)


def test_packing_refuses_what_does_not_fit() -> None:
    case = Case(I=5, H=9)
    stored = make_stored(case, "int8")
    packed = Prepared(make_problem(case), stored)._packed
    call = {
        "itemsize": 4, "kind": native.Kind(False, True, False, False), "format": "int8", "layers": 1, "steps": 0, "batch": 0,
        "input_size": 5, "hidden": 9,
    }  # fmt: skip
    weights = [(one.values.data_ptr(), one.values.nbytes) for one in stored]
    scales = [(one.scale.data_ptr(), one.scale.nbytes) for one in stored[:2]]
    with pytest.raises(ValueError, match="weights and scales must be 4 and 2"):
        native.pack({**call, "weights": weights, "scales": scales[:1]})
    with pytest.raises(ValueError, match="bytes"):
        native.pack({**call, "weights": [weights[1], *weights[1:]], "scales": scales})
    with pytest.raises(ValueError, match="bfloat16 and int8 weights go with float32"):
        native.pack({**call, "itemsize": 8, "weights": weights, "scales": scales})
    with pytest.raises(ValueError, match="format must be"):
        native.pack({**call, "format": "int4", "weights": weights, "scales": scales})
    with pytest.raises(ValueError, match="no such layer"):
        native.unpack(packed, 1, [*weights[:2], *scales])
    with pytest.raises(ValueError, match="as many places"):
        native.unpack(packed, 0, weights[:2])
