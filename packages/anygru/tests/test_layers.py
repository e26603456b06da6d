"""GRU and GRUCell against torch.nn: parameters, results, representation, laziness, every way to change a weight."""

import copy
import inspect
import io
import math
import pickle
import re

import pytest
import torch
from helpers import all_close, close
from torch import Tensor, nn
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads

import anygru
from anygru.errors import ArgumentError
from anygru.facts import torch_private

ARGUMENTS = [
    {}, {"num_layers": 3}, {"bias": False}, {"bidirectional": True}, {"batch_first": True},
    {"num_layers": 2, "bidirectional": True, "dropout": 0.3, "bias": False}, {"dtype": torch.float64},
]  # fmt: skip


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_gru_is_torch_gru(arguments: dict) -> None:
    torch.manual_seed(3)
    expected_layer = nn.GRU(4, 6, **arguments)
    torch.manual_seed(3)
    layer = anygru.GRU(4, 6, **arguments)
    assert list(layer.state_dict()) == list(expected_layer.state_dict())
    for own, theirs in zip(layer.parameters(), expected_layer.parameters(), strict=True):
        assert torch.equal(own, theirs)
    assert repr(layer) == repr(expected_layer).replace("dtype=torch.float64", "").replace(", )", ")")
    x = torch.randn(5, 3, 4, dtype=arguments.get("dtype"))
    torch.manual_seed(4)
    expected, expected_h = expected_layer(x)
    torch.manual_seed(4)
    output, h_n = layer(x)
    close(output, expected)
    close(h_n, expected_h)
    (output.sin().sum() + h_n.cos().sum()).backward()
    (expected.sin().sum() + expected_h.cos().sum()).backward()
    for own, theirs in zip(layer.parameters(), expected_layer.parameters(), strict=True):
        close(own.grad, theirs.grad)
    unbatched, unbatched_h = layer.eval()(x[0])
    close(unbatched, expected_layer.eval()(x[0])[0])
    close(unbatched_h, expected_layer(x[0])[1])


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("kind", ["GRU", "GRUCell"])
def test_calls_by_torchs_own_signature(kind: str, frozen: bool) -> None:
    theirs = getattr(nn, kind)(input_size=3, hidden_size=4, bias=True, device="cpu", dtype=torch.float32)
    ours = getattr(anygru, kind)(input_size=3, hidden_size=4, bias=True, device="cpu", dtype=torch.float32)
    ours.load_state_dict(theirs.state_dict())
    ours = ours.freeze() if frozen else ours
    shapes = {"input": (5, 2, 3), "hx": (1, 2, 4)} if kind == "GRU" else {"input": (2, 3), "hx": (2, 4)}
    names = list(inspect.signature(theirs.forward).parameters)
    assert set(names) == set(shapes)
    given = {name: torch.randn(shape) for name, shape in shapes.items()}
    with torch.no_grad():
        all_close(ours(**given), theirs(**given))
        with pytest.raises(ArgumentError, match="hx is torch's name of"):
            ours(given["input"], given["hx"], hx=given["hx"])


@pytest.mark.parametrize("wrong", ["False", 0.5, None])
@pytest.mark.parametrize("name", ["bias", "batch_first", "bidirectional", "batch_first_states"])
def test_flags_are_flags(name: str, wrong: object) -> None:
    for kind in (anygru.GRU, anygru.FrozenGRU, *(anygru.GRUCell, anygru.FrozenGRUCell) * (name == "bias")):
        with pytest.raises(TypeError, match=f"{name} must be True or False, got"):
            kind(3, 4, **{name: wrong})
    with pytest.raises(TypeError, match="bias must be True or False, got 0.5"):
        anygru.GRU(3, 4, 1, 0.5)  # a dropout as the argument bias
    assert anygru.GRU(3, 4, **{name: 1}) is not None


@pytest.mark.parametrize("norm", [None, "layer"])
def test_update_bias_is_where_the_update_gate_begins(norm: str | None) -> None:
    """The gate of an input and a state of zeros is sigmoid(bias); all other parameters are drawn as without the option."""
    torch.manual_seed(3)
    plain = anygru.GRU(4, 6, 2, bidirectional=True, norm=norm)
    torch.manual_seed(3)
    layer = anygru.GRU(4, 6, 2, bidirectional=True, norm=norm, update_bias=-1.5)
    for name, parameter in layer.named_parameters():
        expected = getattr(plain, name).detach().clone()
        if name.startswith("bias"):
            expected[6:12] = -1.5 if name.startswith("bias_ih") else 0.0
        assert torch.equal(parameter, expected), name
    assert "update_bias=-1.5" in repr(layer)
    cell = anygru.GRUCell(4, 6, groups=3, norm=norm, update_bias=2.0)
    with torch.no_grad():
        for name, parameter in cell.named_parameters():
            parameter.zero_() if "weight" in name else parameter.unflatten(-1, (3, -1))[..., 2, :].zero_()
    close(cell(torch.zeros(1, 4), torch.ones(1, 6)), torch.full((1, 6), 1 / (1 + math.exp(-2.0))))  # h' = z * h
    for wrong, words in ((math.inf, "a finite number"), ("1", "a finite number"), (math.nan, "a finite number")):
        with pytest.raises((ValueError, TypeError), match=f"update_bias must be {words}"):
            anygru.GRU(4, 6, update_bias=wrong)
    with pytest.raises(ValueError, match="update_bias needs biases"):
        anygru.GRUCell(4, 6, bias=False, update_bias=1.0)


@pytest.mark.parametrize("bias", [True, False])
def test_cell_is_torch_cell(bias: bool) -> None:
    torch.manual_seed(3)
    expected_cell = nn.GRUCell(4, 6, bias=bias)
    torch.manual_seed(3)
    cell = anygru.GRUCell(4, 6, bias=bias)
    assert repr(cell) == repr(expected_cell)
    assert list(cell.state_dict()) == list(expected_cell.state_dict())
    x, h = torch.randn(3, 4), torch.randn(3, 6)
    close(cell(x, h), expected_cell(x, h))
    close(cell(x), expected_cell(x))
    close(cell(x[0], h[0]), expected_cell(x[0], h[0]))


def test_repr_tells_what_torch_does_not_have() -> None:
    layer = anygru.GRU(4, 6, reset="before", activation="relu", backend="reference")
    assert repr(layer) == "GRU(4, 6, reset='before', activation='relu', backend='reference')"
    assert repr(anygru.GRUCell(4, 6, gate_activation=torch.special.expit)).startswith("GRUCell(4, 6, gate_activation=")


def test_is_no_subclass_of_torch_gru() -> None:
    assert not issubclass(anygru.GRU, nn.RNNBase)  # torch's compiler breaks its graph on any


def test_lazy_input_size() -> None:
    layer = anygru.GRU(None, 6, num_layers=2, bidirectional=True)
    assert repr(layer) == "LazyGRU(None, 6, num_layers=2, bidirectional=True)"
    assert isinstance(layer.state_dict()["weight_ih_l0"], nn.parameter.UninitializedParameter)
    layer([torch.randn(3, 5), torch.randn(2, 5)])
    assert type(layer) is anygru.GRU
    assert (layer.input_size, tuple(layer.weight_ih_l0_reverse.shape)) == (5, (18, 5))
    assert layer.weight_ih_l0.abs().max() <= 1 / 6**0.5

    loaded = anygru.GRU(None, 6, num_layers=2, bidirectional=True)
    loaded.load_state_dict(layer.state_dict())
    x = torch.randn(2, 3, 5)
    close(loaded(x)[0], layer(x)[0])
    assert loaded.input_size == 5


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda layer: layer.weight_hh_l0.data.mul_(2), id="data"),
        pytest.param(lambda layer: layer.weight_hh_l0.detach().numpy().fill(0.1), id="numpy view"),
        pytest.param(lambda layer: setattr(layer, "weight_hh_l0", nn.Parameter(torch.ones(18, 6))), id="new parameter"),
        pytest.param(lambda layer: layer.load_state_dict(anygru.GRU(4, 6).state_dict()), id="load_state_dict"),
        pytest.param(lambda layer: nn.utils.parametrizations.weight_norm(layer, "weight_hh_l0"), id="weight_norm"),
        pytest.param(lambda layer: setattr(layer, "bias_ih_l0", layer.bias_hh_l0), id="tied"),
    ],
)
def test_weights_are_never_stale(change) -> None:
    layer, x = anygru.GRU(4, 6), torch.randn(5, 3, 4)
    layer(x)
    change(layer)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    expected = torch._VF.gru(
        x, torch.zeros(1, 3, 6), [getattr(layer, n) for n in names], True, 1, 0.0, False, False, False
    )
    close(layer(x)[0], expected[0])


def test_tools_find_the_arguments_of_the_class() -> None:
    assert list(inspect.signature(anygru.GRU).parameters)[:3] == ["input_size", "hidden_size", "num_layers"]
    layer = nn.utils.skip_init(anygru.GRU, 4, 6, reset="before")
    layer.load_state_dict(anygru.GRU(4, 6, reset="before").state_dict())
    assert layer(torch.randn(5, 3, 4))[0].isfinite().all()


@pytest.mark.parametrize("options", [{"activation": "relu"}, {"backend": "reference", "norm": "layer"}, {}])
def test_no_step_has_gradients_of_zero(options: dict[str, str]) -> None:
    layer = anygru.GRU(4, 6, 2, bidirectional=True, **options)
    output, h_n = layer(torch.randn(0, 3, 4))
    (output.sum() + h_n.sum()).backward()
    assert not layer.weight_ih_l1.grad.any()


def test_to_half_double_meta_deepcopy_pickle() -> None:
    layer, x = anygru.GRU(4, 6), torch.randn(5, 3, 4)
    expected = layer(x)[0]
    close(copy.deepcopy(layer)(x)[0], expected)
    close(pickle.loads(pickle.dumps(layer))(x)[0], expected)
    buffer = io.BytesIO()
    torch.save(layer.state_dict(), buffer)
    buffer.seek(0)
    fresh = nn.GRU(4, 6)
    fresh.load_state_dict(torch.load(buffer, weights_only=True))
    close(fresh(x)[0], expected)
    assert layer.double()(x.double())[0].dtype is torch.float64
    assert layer.half()(x.half())[0].dtype is torch.float16
    assert anygru.GRU(4, 6, device="meta")(x.to("meta"))[0].shape == (5, 3, 6)


@pytest.mark.parametrize("kind", [anygru.GRU, anygru.GRUCell])
def test_weights_of_one_formula_do_not_load_into_the_other(kind) -> None:
    before = nn.Sequential(kind(4, 6, reset="before"))
    with pytest.raises(RuntimeError, match="0 has reset='after', the weights are for reset='before'"):
        nn.Sequential(kind(4, 6)).load_state_dict(before.state_dict())
    nn.Sequential(kind(4, 6, reset="before")).load_state_dict(before.state_dict())
    torchs = (nn.GRU if kind is anygru.GRU else nn.GRUCell)(4, 6)
    with pytest.raises(RuntimeError, match="Missing key.*reset_before"):
        kind(4, 6, reset="before").load_state_dict(torchs.state_dict())
    kind(4, 6, reset="before").load_state_dict(torchs.state_dict(), strict=False)
    assert list(kind(4, 6).state_dict()) == list(torchs.state_dict())


def by_safetensors(model: nn.Module, other: nn.Module, path: str) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save_model(model, path)
    safetensors.load_model(other, path)


WAYS = {
    "dict": lambda model, other, path: other.load_state_dict(dict(model.state_dict())),
    "filtered": lambda model, other, path: other.load_state_dict(
        {key: value for key, value in model.state_dict().items() if key.startswith("0.")}
    ),
    "not strict": lambda model, other, path: other.load_state_dict(dict(model.state_dict()), strict=False),
    "safetensors": by_safetensors,
    "moved": lambda model, other, path: other.load_state_dict(dict(copy.deepcopy(model).half().state_dict())),
}


@pytest.mark.parametrize("kind", [anygru.GRU, anygru.GRUCell])
@pytest.mark.parametrize("way", WAYS)
def test_the_formula_survives_copies_of_the_tensors(way: str, kind, tmp_path) -> None:
    before = nn.Sequential(kind(4, 6, reset="before"))
    path = str(tmp_path / "model.safetensors")
    with pytest.raises(RuntimeError, match="has reset='after', the weights are for reset='before'"):
        WAYS[way](before, nn.Sequential(kind(4, 6)), path)
    twin = nn.Sequential(kind(4, 6, reset="before"))
    WAYS[way](before, twin, path)
    for one, other in zip(twin.parameters(), before.parameters(), strict=True):
        assert torch.equal(one, other.half().float() if way == "moved" else other)


def test_the_formula_follows_the_attribute() -> None:
    layer = anygru.GRU(4, 6)
    x = torch.randn(5, 3, 4)
    twin = anygru.GRU(4, 6, reset="before")
    twin.load_state_dict(layer.state_dict(), strict=False)
    layer.reset = "before"
    close(layer(x)[0], twin(x)[0])
    assert "reset_before" in layer.state_dict()
    layer.reset = "after"
    assert "reset_before" not in layer.state_dict()
    with pytest.raises(ArgumentError, match="reset must be"):
        layer.reset = "never"


@pytest.mark.parametrize(("name", "wrong"), [("reset", "never"), ("dropout", 2), ("backend", "gpu"), ("norm", "batch")])
def test_an_option_that_is_refused_changes_nothing(name: str, wrong: object) -> None:
    layer = anygru.GRU(4, 6, 2)
    before, options = getattr(layer, name), layer.options
    with pytest.raises(ValueError, match=name):
        setattr(layer, name, wrong)
    assert (getattr(layer, name), layer.options) == (before, options)


def test_empty_batches_and_sequences() -> None:
    layer = anygru.GRU(4, 6, num_layers=2)
    output, h_n = layer(torch.zeros(0, 3, 4), torch.ones(2, 3, 6))
    assert output.shape == (0, 3, 6)
    assert torch.equal(h_n, torch.ones(2, 3, 6))
    output, h_n = layer(torch.zeros(5, 0, 4))
    assert (output.shape, h_n.shape) == ((5, 0, 6), (2, 0, 6))
    h_n.sum().backward()


BAD = [
    (lambda: anygru.GRU(4, 0), ValueError, "hidden_size must be at least 1, got 0"),
    (lambda: anygru.GRU(-1, 4), ValueError, "input_size must be at least 1, got -1"),
    (lambda: anygru.GRU(4, 6.0), TypeError, "hidden_size must be an int, got float"),
    (lambda: anygru.GRU(4, 6, 0), ValueError, "num_layers must be at least 1, got 0"),
    (lambda: anygru.GRU(4, 6, 2, dropout=-0.1), ValueError, "dropout must be a probability between 0 and 1, got -0.1"),
    (lambda: anygru.GRU(4, 6, reset="x"), ValueError, "reset must be 'after' or 'before', got 'x'"),
    (lambda: anygru.GRUCell(4, True), TypeError, "hidden_size must be an int, got bool"),
    (lambda: anygru.GRU(4, 6, 2, dropout=True), TypeError, "dropout must be a probability between 0 and 1, got bool"),
    (lambda: anygru.GRU(4, 6, backend="x"), ValueError, "backend must be one of"),
    (lambda: anygru.GRU(4, 6, dtype=torch.int32), TypeError, "dtype must be float32, float64, bfloat16 or float16"),
    (lambda: anygru.GRUCell(4, 6, dtype=torch.complex64), TypeError, "got torch.complex64"),
    (lambda: anygru.GRU(None, 6)([]), ValueError, "must have a sequence, which sets the input size"),
    (lambda: anygru.GRU(None, 6)("abc"), TypeError, "input must be a tensor, a list of tensors or a PackedSequence"),
    (lambda: anygru.GRU(None, 6)([1]), TypeError, "input must be a tensor, a list of tensors or a PackedSequence"),
    (
        lambda: anygru.GRU(4, 6)(torch.zeros(5, 3, 5)),
        ValueError,
        "input must have I = 4 features as the weights have, got 5",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_arguments(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_useless_dropout_warns() -> None:
    with pytest.warns(UserWarning, match="has no effect with num_layers=1"):
        anygru.GRU(4, 6, dropout=0.5)


def test_explain_names_the_choice_and_the_reasons() -> None:
    explanation = anygru.explain(anygru.GRU(4, 6, activation=torch.sin), torch.zeros(5, 3, 4))
    assert explanation.backend == "reference"
    assert "sigmoid and tanh" in explanation.reasons["aten"]
    assert "reference  computes this call" in str(explanation)
    assert anygru.explain(nn.GRUCell(4, 6), torch.zeros(3, 4)).reasons["aten"] is None
    ragged = anygru.explain(anygru.GRU(4, 6, backend="reference"), [torch.zeros(5, 4)])
    assert ragged.problem.ragged
    assert ragged.backend == "reference"
    with pytest.raises(TypeError, match="layer must be a GRU or GRUCell of anygru or torch, got Linear"):
        anygru.explain(nn.Linear(3, 4), torch.zeros(3))


def test_what_libraries_read_in_torchs_layer() -> None:
    layer = anygru.GRU(4, 6, 2)
    twin = nn.GRU(4, 6, 2)
    for name in (
        "mode",
        "proj_size",
        "input_size",
        "hidden_size",
        "num_layers",
        "bidirectional",
        "batch_first",
        "dropout",
    ):
        assert getattr(layer, name) == getattr(twin, name), name
    assert all(one is other for one, other in zip(layer._flat_weights, layer.parameters(), strict=True))


@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("kind", [anygru.GRU, anygru.GRUCell])
def test_script_says_what_to_use(kind) -> None:
    for model in (kind(4, 6), nn.Sequential(nn.Linear(4, 4), kind(4, 6))):
        with pytest.raises(
            TypeError, match="torch.jit.script cannot compile anygru.*use torch.jit.trace or torch.export"
        ):
            torch.jit.script(model)


class Holder(nn.Module):
    """A layer and a cell inside a model, as tools for models meet them."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.cell = anygru.GRU(3, 4), anygru.GRUCell(4, 4)

    def frozen(self) -> "Holder":
        self.gru, self.cell = self.gru.freeze(), self.cell.freeze()  # type: ignore[assignment]
        return self

    def forward(self, input: Tensor) -> Tensor:
        output, _ = self.gru(input)
        return self.cell(output[-1])


@pytest.mark.parametrize("model", [Holder(), Holder().frozen()], ids=["layers", "frozen"])
def test_a_layer_is_one_node_for_torch_fx(model: Holder) -> None:
    input = torch.randn(5, 2, 3)
    traced = torch.fx.symbolic_trace(model)
    assert [node.target for node in traced.graph.nodes if node.op == "call_module"] == ["gru", "cell"]
    assert torch.equal(traced(input), model(input))
    with pytest.raises(TypeError, match=r"torch\.fx takes anygru\.(Frozen)?GRU as one node"):
        torch.fx.symbolic_trace(model.gru)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")
def test_torchs_quantization_says_what_it_leaves() -> None:
    with pytest.warns(UserWarning, match=r"no quantized form of anygru\.GRU.*anygru\.freeze"):
        torch.ao.quantization.quantize_dynamic(Holder(), {nn.GRU})
    with pytest.raises(TypeError, match=r"no quantized form of anygru\.GRUCell: anygru\.freeze"):
        torch.ao.quantization.quantize_dynamic(Holder().cell, {anygru.GRUCell})


def test_gradients_of_each_sample() -> None:
    """Not by torch's expanded weights, but by torch.func."""
    layer, inputs = anygru.GRU(3, 4, batch_first=True), torch.randn(2, 5, 3)
    with pytest.raises(TypeError, match=r"expanded weights .* torch\.func"):
        call_for_per_sample_grads(layer)(inputs)
    parameters = {name: value.detach() for name, value in layer.named_parameters()}

    def loss(parameters: dict[str, Tensor], input: Tensor) -> Tensor:
        return torch.func.functional_call(layer, parameters, (input,))[0].square().sum()

    found = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, inputs)
    for number, input in enumerate(inputs):
        expected = torch.autograd.grad(layer(input)[0].square().sum(), list(layer.parameters()))
        for one, other in zip(found.values(), expected, strict=True):
            close(one[number], other)


def test_check_input() -> None:
    layer = anygru.GRU(3, 4)
    layer.check_input(torch.zeros(5, 2, 3))
    layer.check_input(torch.zeros(5, 3), torch.tensor([3, 2]))
    with pytest.raises(ValueError, match=r"input must be \[T, B, I\] with I = 3, got \[5, 2, 2\]"):
        layer.check_input(torch.zeros(5, 2, 2))
    with pytest.raises(ValueError, match=r"input must be \[N, I\]"):
        layer.check_input(torch.zeros(5, 2, 3), torch.tensor([3, 2]))


def test_torchs_profiler_shows_a_name() -> None:
    model, input = Holder(), torch.randn(5, 2, 3)
    stream = model.gru.stream(2)

    def names(call: object) -> str:
        activities = [torch.profiler.ProfilerActivity.CPU]
        options = {"acc_events": True} if torch_private.at_least(2, 6) else {}
        with torch.profiler.profile(activities=activities, **options) as profile:
            call()
        return " ".join(event.key for event in profile.key_averages())

    trained = names(lambda: model(input).sum().backward())
    assert "_GRUBackward" in trained
    if torch_private.at_least(2, 10):  # the profilers before do not always show a node of a loop
        assert "_GRUCellBackward" in trained
    resets, frozen = torch.ones(5, 2, dtype=torch.bool), model.gru.freeze()
    with torch.no_grad():
        for call in (
            lambda: model.gru(input),
            lambda: model.gru([input[:, 0]]),
            lambda: stream.step(input[0]),
            lambda: stream.run(input, resets),
            lambda: frozen([input[:, 0]]),
        ):
            assert "anygru::gru" in names(call)


def test_torchs_defaults_for_new_tensors_change_nothing() -> None:
    """Of a program that calls torch.set_default_device("cuda") or torch.set_default_dtype(torch.float64)."""
    layer, input = anygru.GRU(3, 4, bidirectional=True), torch.randn(5, 2, 3)
    frozen = layer.freeze("int8")
    mirrored = anygru.GRU(3, 4, bidirectional=True, backend="reference")
    noisy = anygru.GRU(3, 4, zoneout=0.5)

    def results() -> list[Tensor]:
        torch.manual_seed(0)
        outputs = [layer(input, lengths=[2, 5])[0], *layer([input[:, 0], input[:3, 1]])[0]]
        outputs += [mirrored(input, lengths=[2, 5])[0], noisy(input.repeat(1, 400, 1))[0]]
        made = anygru.FrozenGRU(3, 4, bidirectional=True, weights="int8", device="cpu")
        made.load_state_dict(frozen.state_dict())
        return [*outputs, frozen(input)[0], made(input)[0], layer.freeze("int8").weight_hh_l0_scale]

    expected = results()
    try:
        torch.set_default_device("meta")
        torch.set_default_dtype(torch.float64)
        found = results()
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
