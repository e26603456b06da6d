"""Layer norm, zoneout, recurrent dropout and the states of all layers against float64 NumPy written from the papers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import Case, all_close, close, detached, sigmoid
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence

import anygru
from anygru.errors import ArgumentError, ArgumentTypeError, BackendError
from anygru.facts import sequences, torch_private
from anygru.facts.decays import to_rows
from anygru.facts.modifiers import NONE, Modifiers, Noise
from anygru.functional import gru

CASES = {
    "one layer": Case(T=5, B=3, I=4, H=7),
    "before": Case(T=5, B=3, I=4, H=17, reset="before"),
    "two directions": Case(T=4, B=6, I=3, H=17, L=2, bidirectional=True),
    "before, no bias": Case(T=4, B=2, I=3, H=9, L=2, bidirectional=True, reset="before", bias=False),
    "ragged": Case(T=6, B=5, I=3, H=7, L=2, bidirectional=True, lengths=(3, 6, 0, 6, 2)),
    "ragged, before": Case(T=6, B=5, I=3, H=16, bidirectional=True, lengths=(3, 6, 0, 6, 2), reset="before"),
    "one of each": Case(T=1, B=1, I=1, H=1),
    "many rows": Case(T=3, B=19, I=5, H=33),
}
KINDS = {
    "norm": (True, ()),
    "zoneout": (False, ("zoneout",)),
    "zoneout of evaluation": (True, ("constant",)),
    "state": (False, ("mask",)),
    "candidate": (False, ("candidate",)),
    "all": (True, ("decay", "candidate", "zoneout", "mask")),
}
BACKENDS = ["cpu", "reference"]
EACH = [(name, kind) for kind in KINDS for name in CASES]


def make_weights(case: Case, norm: bool, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    weights = case.weights(dtype)
    if not norm:
        return weights
    per, found = 4 if case.bias else 2, []
    generator = torch.Generator().manual_seed(7)
    for start in range(0, len(weights), per):
        gains = 0.5 + torch.rand(2, 3 * case.H, generator=generator, dtype=torch.float64)
        found += [*weights[start : start + per], *(gain.to(dtype).requires_grad_() for gain in gains)]
    return found


def make_modifiers(case: Case, names: tuple[str, ...], dtype: torch.dtype = torch.float64) -> Modifiers:
    generator = torch.Generator().manual_seed(3)
    states = case.L * case.D

    def some(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    each = (states, case.T, case.B, case.H)
    made = {
        "decay": some(*each),
        "candidate": (some(*each) < 0.7).double() / 0.7,
        "zoneout": (some(*each) < 0.4).double(),
        "mask": (some(states, case.B, case.H) < 0.6).double() / 0.6,
        "constant": torch.full((1, 1, 1, 1), 0.3, dtype=torch.float64),
    }
    return Modifiers(**{name.replace("constant", "zoneout"): made[name].to(dtype) for name in names})


def layer_norm(values: np.ndarray, gain: np.ndarray | None, bias: np.ndarray) -> np.ndarray:
    """Ba et al. 2016, equations 3 and 4, over the summed inputs that are given."""
    if gain is None:
        return values + bias
    return gain * (values - values.mean()) / np.sqrt(values.var() + 1e-5) + bias


def numpy_step(
    x: np.ndarray, h: np.ndarray, own: dict[str, np.ndarray], case: Case, m: dict[str, np.ndarray]
) -> np.ndarray:
    H = case.H
    zeros = np.zeros(3 * H)
    b_ih, b_hh = own.get("bias_ih", zeros), own.get("bias_hh", zeros)
    g_ih, g_hh = own.get("gain_ih"), own.get("gain_hh")
    h = h * m.get("decay", 1.0)
    read = h * m.get("mask", 1.0)
    gates, last = slice(0, 2 * H), slice(2 * H, 3 * H)

    def part(rows: slice, weight: str, values: np.ndarray, gain: np.ndarray | None, bias: np.ndarray) -> np.ndarray:
        return layer_norm(own[weight][rows] @ values, None if gain is None else gain[rows], bias[rows])

    r, z = np.split(sigmoid(part(gates, "weight_ih", x, g_ih, b_ih) + part(gates, "weight_hh", read, g_hh, b_hh)), 2)
    if case.reset == "after":
        from_state = r * part(last, "weight_hh", read, g_hh, b_hh)
    else:
        from_state = part(last, "weight_hh", r * read, g_hh, b_hh)
    n = np.tanh(part(last, "weight_ih", x, g_ih, b_ih) + from_state)
    new = (1 - z) * n * m.get("candidate", 1.0) + z * h
    share = m.get("zoneout", 0.0)
    return share * h + (1 - share) * new


def numpy_modified(case: Case, x, h_0, weights, norm: bool, modifiers: Modifiers):
    """Output, h_n and the states [L*D, T, B, H]."""
    kinds = ["weight_ih", "weight_hh", *["bias_ih", "bias_hh"] * case.bias, *["gain_ih", "gain_hh"] * norm]
    states, h_n = np.zeros((case.L * case.D, case.T, case.B, case.H)), np.array(h_0)
    full = {
        name: np.broadcast_to(
            values.double().numpy(), (case.L * case.D, *((case.T,) if name != "mask" else ()), case.B, case.H)
        )
        for name, values in zip(modifiers.names(), modifiers.present(), strict=True)
    }
    for b, length in enumerate(case.lengths or (case.T,) * case.B):
        below = x[:length, b]
        for layer in range(case.L):
            for direction in range(case.D):
                k = layer * case.D + direction
                own = dict(zip(kinds, weights[k * len(kinds) : (k + 1) * len(kinds)], strict=True))
                for t in range(length)[:: -1 if direction else 1]:
                    m = {name: values[k, b] if name == "mask" else values[k, t, b] for name, values in full.items()}
                    h_n[k, b] = numpy_step(below[t], h_n[k, b], own, case, m)
                    states[k, t, b] = h_n[k, b]
            below = np.concatenate(list(states[layer * case.D : (layer + 1) * case.D, :length, b]), -1)
    output = np.concatenate(list(states[-case.D :]), -1)
    return output, h_n, states


def call(
    monkeypatch: pytest.MonkeyPatch,
    case: Case,
    norm: bool,
    modifiers: Modifiers,
    tensors: list[torch.Tensor],
    **options: object,
):
    """The operator with given modifiers instead of drawn modifiers."""

    def draw(self: Noise, given: Modifiers, input: torch.Tensor, *sizes: int) -> Modifiers:
        if case.lengths is None:
            return modifiers
        return to_rows(modifiers, sequences.enter(tensors[0], case.lengths, False))

    with monkeypatch.context() as patch:
        patch.setattr(Noise, "draw", draw)
        more = {"norm": "layer" if norm else None, "zoneout": 0.5, **case.options, **options}
        return gru(tensors[0], tensors[1], tensors[2:], training=True, **more)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("name", "kind"), EACH)
def test_against_numpy(name: str, kind: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, (norm, names) = CASES[name], KINDS[kind]
    modifiers = make_modifiers(case, names)
    tensors = [case.input(), case.h_0(), *make_weights(case, norm)]
    x, h_0, *weights = detached(tensors)
    expected = numpy_modified(case, x, h_0, weights, norm, modifiers)
    found = call(monkeypatch, case, norm, modifiers, tensors, backend=backend, return_states=True)
    for one, other in zip(found, expected, strict=True):
        close(one, torch.from_numpy(other))
    with torch.no_grad():
        output, h_n = call(monkeypatch, case, norm, modifiers, tensors, backend=backend)
        assert torch.equal(output, found[0])
        assert torch.equal(h_n, found[1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(("name", "kind"), EACH)
def test_gradients_are_those_of_the_reference(
    name: str, kind: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, (norm, names) = CASES[name], KINDS[kind]
    found = []
    for backend in BACKENDS:
        own = dtype if backend == "cpu" else torch.float64
        tensors = [case.input(own), case.h_0(own), *make_weights(case, norm, own)]
        modifiers = make_modifiers(case, names, own)
        if modifiers.decay is not None:
            modifiers.decay.requires_grad_()
        results = call(monkeypatch, case, norm, modifiers, tensors, backend=backend)
        upstream = [torch.randn(r.shape, generator=torch.Generator().manual_seed(1)).to(own) for r in results]
        wanted = tensors if modifiers.decay is None else [*tensors, modifiers.decay]
        found.append(torch.autograd.grad(results, wanted, upstream))
    for index, (one, other) in enumerate(zip(*found, strict=True)):
        if dtype is torch.float32 and norm:  # a norm over one value divides by the root of its epsilon
            one, other = one / 10, other / 10
        close(one, other, index=index)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["norm", "all"])
@pytest.mark.parametrize("reset", ["after", "before"])
def test_finite_differences(reset: str, kind: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, (norm, names) = Case(T=2, B=2, I=2, H=3, reset=reset), KINDS[kind]
    modifiers = make_modifiers(case, tuple(name for name in names if name != "decay"))
    tensors = [case.input(), case.h_0(), *make_weights(case, norm)]

    def compute(*tensors):
        return call(monkeypatch, case, norm, modifiers, list(tensors), backend=backend)

    assert torch.autograd.gradcheck(compute, tensors, fast_mode=True)
    if backend == "cpu":
        assert torch.autograd.gradgradcheck(compute, tensors, fast_mode=True)


@pytest.mark.parametrize("reset", ["after", "before"])
def test_same_bits_alone_in_a_batch_and_in_threads(reset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(T=6, B=37, I=9, H=40, L=2, reset=reset)
    norm, names = KINDS["all"]
    modifiers = make_modifiers(case, names, torch.float32)
    tensors = [case.input(torch.float32), case.h_0(torch.float32), *make_weights(case, norm, torch.float32)]
    with torch.no_grad():
        output, h_n = call(monkeypatch, case, norm, modifiers, tensors)
        threads = torch.get_num_threads()
        try:
            torch.set_num_threads(3)
            again, _ = call(monkeypatch, case, norm, modifiers, tensors)
        finally:
            torch.set_num_threads(threads)
        assert torch.equal(again, output)
        own = slice(5, 6)
        alone = Modifiers(*(values[:, :, own] for values in modifiers[:3]), modifiers.mask[:, own])
        found, found_h = call(monkeypatch, case, norm, alone, [tensors[0][:, own], tensors[1][:, own], *tensors[2:]])
    assert torch.equal(found, output[:, own])
    assert torch.equal(found_h, h_n[:, own])


def test_masks_are_drawn_from_torchs_generator() -> None:
    noise = Noise(0.3, 0.2, "state", True)
    input = torch.zeros(30, 20, 3)
    torch.manual_seed(0)
    drawn = noise.draw(NONE, input, 2, 20, 32)
    torch.manual_seed(0)
    again = noise.draw(NONE, input, 2, 20, 32)
    assert drawn.zoneout.shape == (2, 30, 20, 32)
    assert drawn.mask.shape == (2, 20, 32)
    assert drawn.names() == noise.names()
    assert torch.equal(drawn.zoneout, again.zoneout)
    assert torch.equal(drawn.mask, again.mask)
    assert drawn.zoneout.unique().tolist() == [0, 1]
    assert abs(drawn.zoneout.mean() - 0.3) < 0.02
    close(drawn.mask.unique(), torch.tensor([0, 1.25]))
    assert abs(drawn.mask.mean() - 1) < 0.1
    assert Noise(0.0, 1.0, "candidate", True).draw(NONE, input, 1, 20, 4).candidate.unique().tolist() == [0]
    evaluated = Noise(0.3, 0.2, "state", False).draw(NONE, input, 2, 20, 32)
    assert evaluated.zoneout.tolist() == [[[[pytest.approx(0.3)]]]]
    assert evaluated.mask is None


def test_a_layer_draws_in_training_only() -> None:
    layer = anygru.GRU(3, 8, 2, bidirectional=True, zoneout=0.2, recurrent_dropout=0.3, norm="layer")
    x = torch.randn(6, 4, 3)
    torch.manual_seed(1)
    first, _ = layer(x)
    torch.manual_seed(1)
    again, _ = layer(x)
    other, _ = layer(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    layer.eval()
    assert torch.equal(layer(x)[0], layer(x)[0])
    assert "norm='layer', zoneout=0.2, recurrent_dropout=0.3)" in repr(layer)
    layer.zoneout = 0.0
    assert not torch.equal(layer(x)[0], first)
    assert layer.options.noise is None


def test_a_state_dict_has_the_gains_or_is_refused() -> None:
    layer = anygru.GRU(3, 4, 2, norm="layer")
    assert torch.equal(layer.gain_hh_l1, torch.ones(12))
    names = [name for name in layer.state_dict() if name.startswith("gain")]
    assert names == ["gain_ih_l0", "gain_hh_l0", "gain_ih_l1", "gain_hh_l1"]
    with pytest.raises(RuntimeError, match=r"Missing key.*gain_ih_l0"):
        layer.load_state_dict(anygru.GRU(3, 4, 2).state_dict())
    with pytest.raises(RuntimeError, match=r"Unexpected key.*gain_ih_l0"):
        anygru.GRU(3, 4, 2).load_state_dict(layer.state_dict())
    assert anygru.GRU.around(layer.weights).gain_ih_l0 is layer.gain_ih_l0


def test_what_has_no_layer_norm_refuses_one(tmp_path: Path) -> None:
    layer = anygru.GRU(3, 4, norm="layer")
    torch.save(layer.state_dict(), tmp_path / "norm.pt")
    assert anygru.load_checkpoint(tmp_path / "norm.pt").gru_layers == ()
    with pytest.raises(ArgumentError, match="a frozen layer has no layer norm"):
        layer.freeze()


@pytest.mark.parametrize("reset", ["after", "before"])
def test_a_stream_gives_what_the_layer_gives(reset: str) -> None:
    layer = anygru.GRU(3, 9, 2, norm="layer", zoneout=0.2, recurrent_dropout=0.3, reset=reset).eval()
    x, resets = torch.randn(7, 4, 3), torch.rand(7, 4) < 0.3
    for zoneout in (0.2, 0.0):
        layer.zoneout = zoneout
        expected, h_n = layer(x, resets=resets)
        stream = layer.stream(4)
        assert torch.equal(stream.step(x[0], resets[0]), expected[0])
        assert torch.equal(stream.run(x[1:], resets[1:]), expected[1:])
        assert torch.equal(stream.state, h_n)
    assert torch.equal(layer.stream(4).step(x[0]), layer(x)[0][0])


@pytest.mark.parametrize("reset", ["after", "before"])
def test_a_cell_is_a_step_of_the_layer(reset: str) -> None:
    x, h = torch.randn(5, 3), torch.randn(5, 8)
    layer = anygru.GRU(
        3, 8, norm="layer", zoneout=0.2, recurrent_dropout=0.3, recurrent_dropout_on="candidate", reset=reset
    )
    cell = anygru.GRUCell.around(layer.weights, reset=reset)
    cell.zoneout, cell.recurrent_dropout = 0.2, 0.3
    for training in (True, False):
        layer.train(training), cell.train(training)
        torch.manual_seed(2)
        expected = layer(x[None], h[None])[1][0]
        torch.manual_seed(2)
        assert torch.equal(cell(x, h), expected)
    assert torch.equal(cell(x[0], h[0]), cell(x, h)[0])
    assert anygru.GRUCell(3, 8, norm="layer").gain_ih.shape == (24,)


def test_states_in_every_form_of_batch() -> None:
    layer = anygru.GRU(3, 5, 2, bidirectional=True)
    x, lengths = torch.randn(6, 3, 3), (3, 6, 2)
    output, h_n, states = layer(x, lengths=lengths, return_states=True)
    assert torch.equal(layer(x, lengths=lengths)[0], output)
    assert states.shape == (4, 6, 3, 5)
    assert torch.equal(torch.cat((states[2], states[3]), -1), output)
    assert torch.equal(states[0, 2, 0], h_n[0, 0])
    assert torch.equal(states[1, 0], h_n[1])
    pieces = [x[:length, b] for b, length in enumerate(lengths)]
    of_list = layer(pieces, return_states=True)[2]
    for b, length in enumerate(lengths):
        assert torch.equal(of_list[b], states[:, :length, b])
    packed = layer(pack_sequence(pieces, enforce_sorted=False), return_states=True)[2]
    assert isinstance(packed, PackedSequence)
    assert torch.equal(pad_packed_sequence(packed)[0].movedim(-2, 0), states)
    nested = layer(torch.nested.nested_tensor(pieces, layout=torch.jagged), return_states=True)[2]
    assert torch.equal(nested.unbind()[1].movedim(-2, 0), of_list[1])
    dense = layer(x, return_states=True)[2]
    assert torch.equal(layer(x[:, 1], return_states=True)[2], dense[:, :, 1])
    layer.batch_first = True
    assert torch.equal(layer(x.transpose(0, 1), return_states=True)[2], dense.transpose(1, 2))
    turned = layer(x.transpose(0, 1), lengths=lengths, return_states=True)[2]
    assert torch.equal(turned, states.transpose(1, 2))


@pytest.mark.compiles
@pytest.mark.skipif(not torch_private.compiles_named_tuples, reason="this torch breaks the graph at the options")
def test_compiled_and_exported() -> None:
    torch._dynamo.reset()
    layer = anygru.GRU(3, 5, 2, norm="layer", zoneout=0.2, recurrent_dropout=0.3).eval()

    def evaluate(x: torch.Tensor) -> torch.Tensor:
        output, _, states = layer(x, return_states=True)
        return output.sum() + states.square().sum()

    compiled = torch.compile(evaluate, fullgraph=True, dynamic=True, backend="aot_eager")
    for steps in (4, 9):
        x = torch.randn(steps, 2, 3, requires_grad=True)
        grads = [torch.autograd.grad(f(x), (x, layer.gain_hh_l0)) for f in (compiled, evaluate)]
        all_close(*grads)
    layer.train()
    trained = torch.compile(lambda x: layer(x)[0], fullgraph=True, dynamic=True, backend="aot_eager")
    torch.manual_seed(3)
    found = trained(x)
    torch.manual_seed(3)
    close(found, layer(x)[0])


BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "norm": (lambda: anygru.GRU(3, 4, norm="batch"), ArgumentError, "norm must be 'layer' or None, got 'batch'"),
    "zoneout": (lambda: anygru.GRU(3, 4, zoneout=1.5), ArgumentError, "zoneout must be a probability between 0 and 1"),
    "type": (
        lambda: anygru.GRU(3, 4, recurrent_dropout="0.1"),
        ArgumentTypeError,
        "recurrent_dropout must be a probability between 0 and 1, got str",
    ),
    "on": (
        lambda: anygru.GRU(3, 4, recurrent_dropout=0.1, recurrent_dropout_on="gates"),
        ArgumentError,
        "recurrent_dropout_on must be 'state' or 'candidate', got 'gates'",
    ),
    "number of weights": (
        lambda: gru(torch.zeros(2, 3, 4), None, Case(I=4).weights(torch.float32), norm="layer"),
        ArgumentError,
        r"weights must hold 6 tensors a layer \(bias=True, bidirectional=False, layer norm\)",
    ),
    "backend": (
        lambda: anygru.GRU(3, 4, norm="layer", backend="aten")(torch.zeros(2, 3, 3)),
        BackendError,
        "torch's own GRU knows no layer norm",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name: str) -> None:
    work, error, words = BAD[name]
    with pytest.raises(error, match=words):
        work()


def test_explain_names_what_torch_does_not_know() -> None:
    layer = anygru.GRU(3, 4, zoneout=0.1, recurrent_dropout=0.2)
    assert anygru.explain(layer, torch.zeros(2, 3, 3)).reasons["aten"] == "torch's own GRU knows no zoneout"
    layer = anygru.GRU(3, 4, recurrent_dropout=0.2)
    found = anygru.explain(layer, torch.zeros(2, 3, 3))
    assert found.backend == "cpu"
    assert "no recurrent dropout" in found.reasons["aten"]
    assert anygru.explain(layer.eval(), torch.zeros(2, 3, 3)).problem.modified == ()
    found = anygru.explain(anygru.GRU(3, 4, norm="layer"), torch.zeros(2, 3, 3))
    assert found.backend == "cpu"
    assert "no layer norm" in found.reasons["aten"]
