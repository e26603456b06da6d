"""Resets and decays of the state against a GRU in float64 NumPy, one sequence and one step at a time."""

import numpy as np
import pytest
import torch
from helpers import Case, all_close, close, detached, mostly_slow, numpy_gru
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

import anygru
from anygru.errors import ArgumentError, ArgumentTypeError, BackendError
from anygru.facts import torch_private
from anygru.functional import gru

CASES = {
    "one layer": Case(T=5, B=3, I=4, H=7),
    "before": Case(T=5, B=3, I=4, H=7, reset="before"),
    "two directions": Case(T=4, B=6, I=3, H=17, L=2, bidirectional=True),
    "two directions, before, no bias": Case(T=4, B=2, I=3, H=9, L=2, bidirectional=True, reset="before", bias=False),
    "ragged": Case(T=6, B=5, I=3, H=7, lengths=(3, 6, 1, 6, 2)),
    "ragged, two directions": Case(T=6, B=5, I=3, H=7, L=2, bidirectional=True, lengths=(3, 6, 0, 6, 2)),
    "ragged, before": Case(T=6, B=5, I=3, H=7, L=2, bidirectional=True, lengths=(3, 6, 0, 6, 2), reset="before"),
    "one step": Case(T=1, B=2, I=3, H=5),
    "one of each": Case(T=1, B=1, I=1, H=1),
}
BACKENDS = ["cpu", "reference"]


def make_decay(case: Case, width: int | None = None) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    shape = (case.L * case.D, case.T, case.B, case.H if width is None else width)
    decay = torch.rand(shape, generator=generator, dtype=torch.float64)
    return decay.masked_fill(decay < 0.2, 0.0)


def run(case: Case, backend: str, decay: torch.Tensor, dtype: torch.dtype = torch.float64, **more: object):
    """The results, and the tensors that they depend on."""
    own = decay.to(dtype, copy=True).requires_grad_()
    tensors = [case.input(dtype), case.h_0(dtype), *case.weights(dtype), own]
    given = own[0] if len(own) == 1 else own
    output, h_n = gru(tensors[0], tensors[1], tensors[2:-1], decay=given, backend=backend, **case.options, **more)
    return output, h_n, tensors


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("width", [None, 1], ids=["units", "rows"])
@pytest.mark.parametrize("name", CASES)
def test_decay_against_numpy(name: str, width: int | None, backend: str) -> None:
    case = CASES[name]
    decay = make_decay(case, width)
    output, h_n, tensors = run(case, backend, decay)
    x, h_0, *weights = detached(tensors[:-1])
    full = decay.expand(-1, -1, -1, case.H).numpy()
    expected, expected_h = numpy_gru(case, x, h_0, weights, full)
    close(output, torch.from_numpy(expected))
    close(h_n, torch.from_numpy(expected_h))
    with torch.no_grad():
        close(run(case, backend, decay)[0], torch.from_numpy(expected))
    single, _, _ = run(case, backend, decay, torch.float32)
    close(single, torch.from_numpy(expected))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_reference(name: str, dtype: torch.dtype) -> None:
    case, found = CASES[name], []
    for backend in BACKENDS:
        for width in (None, 1):
            exact = backend == "reference"
            output, h_n, tensors = run(case, backend, make_decay(case, width), torch.float64 if exact else dtype)
            upstream = [
                torch.randn(r.shape, generator=torch.Generator().manual_seed(1)).to(r.dtype) for r in (output, h_n)
            ]
            found.append(torch.autograd.grad((output, h_n), tensors, upstream))
    for one, other in ((found[0], found[2]), (found[1], found[3])):
        all_close(one, other)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reset", mostly_slow(["before", "after"]))
def test_finite_differences(reset: str, backend: str) -> None:
    case = Case(T=3, B=2, I=2, H=3, reset=reset)
    tensors = [case.input(), case.h_0(), torch.rand(3, 2, 3, dtype=torch.float64).requires_grad_(), *case.weights()]

    def compute(x, h_0, decay, *weights):
        return gru(x, h_0, weights, decay=decay, reset=reset, backend=backend)

    assert torch.autograd.gradcheck(compute, tensors)
    assert torch.autograd.gradgradcheck(compute, tensors)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_a_reset_starts_anew(name: str, backend: str) -> None:
    """The same as pieces between the resets, each from a state of zeros."""
    case = CASES[name]
    resets = torch.rand(case.T, case.B, generator=torch.Generator().manual_seed(4)) < 0.4
    tensors = [case.input(), case.h_0(), *case.weights()]
    output, h_n = gru(tensors[0], tensors[1], tensors[2:], resets=resets, backend=backend, **case.options)
    x, h_0, *weights = detached(tensors)
    factors = np.broadcast_to((~resets).double().numpy()[None, ..., None], (case.L * case.D, case.T, case.B, case.H))
    expected, expected_h = numpy_gru(case, x, h_0, weights, factors)
    close(output, torch.from_numpy(expected))
    close(h_n, torch.from_numpy(expected_h))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reset_forgets_even_what_is_no_number(backend: str) -> None:
    case = Case(T=3, B=2)
    x, h_0, weights = case.input().detach(), case.h_0().detach(), [w.detach() for w in case.weights()]
    resets = torch.zeros(3, 2, dtype=torch.bool)
    resets[0, 0] = True
    broken = h_0.clone()
    broken[:, 0] = float("nan")
    found, found_h = gru(x, broken, weights, resets=resets, backend=backend)
    expected, expected_h = gru(x, h_0, weights, resets=resets, backend=backend)
    assert torch.equal(found, expected)
    assert torch.equal(found_h, expected_h)


def test_every_form_of_batch() -> None:
    case = Case(T=6, B=3, I=3, H=5, L=2, bidirectional=True, lengths=(3, 6, 2))
    layer = anygru.GRU(3, 5, 2, bidirectional=True).double()
    x = case.input().detach()
    resets = torch.rand(6, 3) < 0.4
    decay = torch.rand(4, 6, 3, 5, dtype=torch.float64)
    expected, expected_h = layer(x, lengths=case.lengths, resets=resets, decay=decay)
    cut = [slice(0, length) for length in case.lengths]
    pieces = [x[own, b] for b, own in enumerate(cut)]
    outputs, h_n = layer(
        pieces,
        resets=[resets[own, b] for b, own in enumerate(cut)],
        decay=[decay[:, own, b] for b, own in enumerate(cut)],
    )
    assert torch.equal(h_n, expected_h)
    for b, own in enumerate(cut):
        assert torch.equal(outputs[b], expected[own, b])
    only_resets, _ = layer(x, lengths=case.lengths, resets=resets)
    packed, _ = layer(
        pack_sequence(pieces, enforce_sorted=False),
        resets=pack_sequence([resets[own, b] for b, own in enumerate(cut)], enforce_sorted=False),
    )
    for b, sequence in enumerate(unpack_sequence(packed)):
        assert torch.equal(sequence, only_resets[cut[b], b])
    nested, _ = layer(
        torch.nested.nested_tensor(pieces, layout=torch.jagged),
        resets=[resets[own, b] for b, own in enumerate(cut)],
        decay=[decay[:, own, b] for b, own in enumerate(cut)],
    )
    assert torch.equal(nested.unbind()[1], outputs[1])
    batch_first = anygru.GRU(3, 5, 2, bidirectional=True, batch_first=True).double()
    batch_first.load_state_dict(layer.state_dict())
    turned, _ = batch_first(x.transpose(0, 1), resets=resets.t(), decay=decay.transpose(1, 2))
    plain, _ = layer(x, resets=resets, decay=decay)
    assert torch.equal(turned.transpose(0, 1), plain)
    alone, _ = layer(x[:, 1], resets=resets[:, 1], decay=decay[:, :, 1])
    assert torch.equal(alone, plain[:, 1]), "a sequence has the same bits alone and in a batch"


def test_a_stream_starts_sequences_anew() -> None:
    layer = anygru.GRU(3, 5, 2)
    x, resets = torch.randn(7, 4, 3), torch.rand(7, 4) < 0.4
    expected, expected_h = layer(x, resets=resets)
    stream = layer.stream(4)
    for t in range(3):
        assert torch.equal(stream.step(x[t], resets[t]), expected[t])
    assert torch.equal(stream.run(x[3:], resets[3:]), expected[3:])
    assert torch.equal(stream.state, expected_h)
    alone = layer.stream()
    assert torch.equal(alone.step(x[0, 0], torch.tensor(True)), expected[0, 0])
    assert torch.equal(alone.run(x[1:, 0], resets[1:, 0]), expected[1:, 0])
    with pytest.raises(ArgumentTypeError, match=r"resets must be a tensor \[4\], got list"):
        stream.step(x[0], [False] * 4)
    with pytest.raises(ArgumentError, match=r"resets must be \[7, 4\], got \[7, 3\]"):
        stream.run(x, resets[:, :3])


def test_long_sequences_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from anygru.backends import cpu_backward

    monkeypatch.setattr(cpu_backward, "PIECE_BYTES", 1)
    monkeypatch.setattr(cpu_backward, "PIECE_ROWS", 8)
    for case in (Case(T=13, B=4, I=3, H=5), Case(T=13, B=4, I=3, H=5, L=2, lengths=(13, 2, 9, 5))):
        found = []
        for backend in BACKENDS:
            output, _, tensors = run(case, backend, make_decay(case))
            found.append(torch.autograd.grad(output.square().sum(), tensors))
        all_close(*found)


@pytest.mark.compiles
@pytest.mark.skipif(not torch_private.compiles_named_tuples, reason="this torch breaks the graph at the options")
def test_compiled_and_exported() -> None:
    torch._dynamo.reset()
    layer = anygru.GRU(3, 5, 2)

    def call(x, resets, decay):
        return layer(x, resets=resets, decay=decay)[0]

    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")
    for steps in (4, 9):
        x, resets = torch.randn(steps, 2, 3, requires_grad=True), torch.rand(steps, 2) < 0.3
        decay = torch.rand(2, steps, 2, 5, requires_grad=True)
        grads = [torch.autograd.grad(f(x, resets, decay).square().sum(), (x, decay)) for f in (compiled, call)]
        all_close(*grads)


BAD = {
    "resets dtype": (
        {"resets": torch.zeros(5, 3, dtype=torch.complex64)},
        ArgumentTypeError,
        "resets must be bool, or numbers that are 0 where there is no reset, got torch.complex64",
    ),
    "states alone": (
        {"reset_states": torch.zeros(1, 1, 6)},
        ArgumentError,
        "reset_states goes with resets, got it alone",
    ),
    "states of another size": (
        {"resets": torch.zeros(5, 3), "reset_states": torch.zeros(1, 5, 3, 7, dtype=torch.float64)},
        ArgumentError,
        r"reset_states must be \[..., 6\] \(L\*D = 1, H = 6\), got \[1, 5, 3, 7\]",
    ),
    "states of another dtype": (
        {"resets": torch.zeros(5, 3), "reset_states": torch.zeros(1, 1, 6)},
        ArgumentTypeError,
        "reset_states must be torch.float64 on cpu as input is, got torch.float32 on cpu",
    ),
    "resets shape": (
        {"resets": torch.zeros(3, 5, dtype=torch.bool)},
        ArgumentError,
        r"resets must have a value for each step, \[5, 3\], got \[3, 5\]",
    ),
    "resets type": ({"resets": 1}, ArgumentTypeError, "resets must have the form of the input, got int"),
    "a list for a tensor": (
        {"resets": [torch.zeros(5, dtype=torch.bool)]},
        ArgumentError,
        "resets must have a value for each step",
    ),
    "decay dtype": (
        {"decay": torch.zeros(5, 3, 6)},
        ArgumentTypeError,
        "decay must be torch.float64 on cpu as input is",
    ),
    "decay width": (
        {"decay": torch.zeros(5, 3, 4, dtype=torch.float64)},
        ArgumentError,
        r"decay must be \[..., 6\] or \[..., 1\] \(L\*D = 1, H = 6\), got \[5, 3, 4\]",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name: str) -> None:
    arguments, error, words = BAD[name]
    case = Case(T=5, B=3, I=4, H=6)
    with pytest.raises(error, match=words):
        gru(case.input(), case.h_0(), case.weights(), **arguments)


def test_torchs_own_kernels_refuse_and_explain_says_so() -> None:
    case = Case(T=5, B=3, I=4, H=6)
    with pytest.raises(BackendError, match="knows no resets and no decay"):
        gru(case.input(), None, case.weights(), resets=torch.zeros(5, 3, dtype=torch.bool), backend="aten")
    found = anygru.explain(anygru.GRU(4, 6), torch.randn(5, 3, 4), resets=True)
    assert found.backend == "cpu"
    assert "no resets" in found.reasons["aten"]


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_past_factors_that_want_none(steps: int, reset: str) -> None:
    """One layer with factors that require no gradient: one native call for the whole backward pass."""
    layer = anygru.GRU(3, 5, reset=reset, dtype=torch.float64)
    x = torch.randn(steps, 4, 3, dtype=torch.float64, requires_grad=True)
    h_0 = torch.randn(1, 4, 5, dtype=torch.float64, requires_grad=True)
    given = {"resets": torch.rand(steps, 4) < 0.5, "decay": torch.rand(steps, 4, 5, dtype=torch.float64)}
    given["resets"][0, 0] = True
    found = []
    for layer.backend in ("cpu", "reference"):
        output, h_n = layer(x, h_0, **given)
        found.append(torch.autograd.grad((output**2).sum() + h_n.sum(), [x, h_0, *layer.parameters()]))
    all_close(*found)
