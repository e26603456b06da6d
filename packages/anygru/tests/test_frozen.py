"""Frozen layers: their numbers, files, copies and refusals."""

import copy
import io
import multiprocessing
import pickle
import threading
from typing import Any

import numpy as np
import pytest
import torch
from helpers import close
from torch.nn.utils import prune

import anygru
from anygru.backends import cpu_calls
from anygru.facts.quantization import DTYPES, dequantize, quantize

FORMATS = list(DTYPES)


def in_format(layer: anygru.GRU, weights: str) -> anygru.GRU:
    """The layer with weights rounded as the format rounds them, by NumPy's rules and not by `quantization`."""
    found = copy.deepcopy(layer)
    with torch.no_grad():
        for tensor in found.parameters():
            if tensor.dim() == 2 and DTYPES[weights] is torch.bfloat16:
                tensor.copy_(tensor.bfloat16())
            elif tensor.dim() == 2 and weights == "int8":
                tensor.copy_(torch.from_numpy(rounded_to_int8(tensor.numpy())))
    return found


def rounded_to_int8(weight: Any) -> Any:
    """Columns rounded in sequence; later columns compensate the error of each, by the inverse (Frantar et al.)."""
    scale = np.abs(weight).max(1, keepdims=True) / np.float32(127)
    left = weight.astype(float)
    metric = left.T @ left
    inverse = np.linalg.inv(metric + 2 * np.trace(metric) / len(metric) * np.eye(len(metric)))
    left /= scale
    greatest, rounded = np.abs(np.round(left)) == 127, np.empty_like(left)
    for k in range(len(inverse)):
        rounded[:, k] = np.where(greatest[:, k], np.round(left[:, k]), np.clip(np.round(left[:, k]), -127, 127))
        left -= np.outer((left[:, k] - rounded[:, k]) / inverse[k, k], inverse[k])
        inverse = inverse - np.outer(inverse[:, k], inverse[k]) / inverse[k, k]
    return rounded.astype(np.float32) * scale


LAYERS: list[dict[str, Any]] = [
    {},
    {"reset": "before", "batch_first": True},
    {"num_layers": 2, "bidirectional": True},
    {"num_layers": 2, "bidirectional": True, "reset": "before", "bias": False},
    {"activation": "relu"},
    {"backend": "reference"},
]


@pytest.mark.parametrize("weights", FORMATS)
@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_every_form_of_batch_gives_what_the_rounded_weights_give(options: dict[str, Any], weights: str) -> None:
    layer = anygru.GRU(5, 9, **options)
    frozen, expected = layer.freeze(weights), in_format(layer, weights)
    states = layer.num_layers * (2 if layer.bidirectional else 1)
    x, h_0 = torch.randn(4, 3, 5), torch.randn(states, 4 if layer.batch_first else 3, 9)
    lengths = [3, 0, 2, 1][: h_0.shape[1]]
    resets = torch.rand(4, 3) > 0.5
    sequences = [torch.randn(length, 5) for length in (2, 4, 0)]
    calls: list[tuple[Any, dict[str, Any]]] = [
        (x, {"h_0": h_0}),
        (x, {"lengths": lengths}),
        (x, {"resets": resets, "decay": torch.rand(states, *x.shape[:2], 9)}),
        (x[0], {"h_0": h_0[:, 0]}),
        (sequences, {}),
        (torch.nn.utils.rnn.pack_sequence(sequences[:2], enforce_sorted=False), {}),
        (torch.nested.nested_tensor(sequences, layout=torch.jagged), {}),
        (x[:, :0], {}),
    ]
    with torch.no_grad():
        for input, arguments in calls:
            found, wanted = frozen(input, **arguments), expected(input, **arguments)
            near(found[1], wanted[1], weights)
            for one, other in zip(rows(found[0]), rows(wanted[0]), strict=True):
                near(one, other, weights)
                if weights == "float32":
                    assert torch.equal(one, other)


def near(actual: torch.Tensor, expected: torch.Tensor, weights: str) -> None:
    """As `close`; but kernels round rows: int8, and bfloat16 on a matrix unit, to 16 bits; bfloat16_rows to 8."""
    if weights == "float32":
        return close(actual, expected)
    torch.testing.assert_close(
        actual, expected, atol={"bfloat16": 2e-5, "bfloat16_rows": 1e-2, "int8": 1e-4}[weights], rtol=0
    )


def rows(output: Any) -> list[torch.Tensor]:
    if isinstance(output, list):
        return output
    if isinstance(output, torch.nn.utils.rnn.PackedSequence):
        return [output.data]
    return [output.values() if output.is_nested else output]


def test_rows_are_rounded_where_the_cpu_multiplies_bfloat16() -> None:
    layer, cell = anygru.GRU(5, 9, 2), anygru.GRUCell(5, 9)
    x = torch.randn(4, 3, 5)
    for call in (lambda weights: layer.freeze(weights)(x)[0], lambda weights: cell.freeze(weights)(x[0])):
        same = torch.equal(call("bfloat16_rows"), call("bfloat16"))
        assert same == ("bfloat16" not in cpu_calls.precisions())


@pytest.mark.parametrize("reset", ["after", "before"])
def test_plain_torch_rounds_rows_as_the_kernels_do(reset: str) -> None:
    layer = anygru.GRU(5, 9, 2, bidirectional=True, reset=reset)
    plain = anygru.GRU(5, 9, 2, bidirectional=True, reset=reset, backend="reference")
    plain.load_state_dict(layer.state_dict())
    x, h_0 = torch.randn(4, 3, 5) * torch.tensor([1, 1e3, 1e-35]).view(3, 1), 3 * torch.randn(4, 3, 9)
    x[1, 0, 2] = float("inf")
    found, expected = plain.freeze("int8")(x, h_0), layer.freeze("int8")(x, h_0)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-6, equal_nan=True)  # a value may round the other way
    explained = anygru.explain(layer.freeze("int8"), x)
    assert "does not round rows" in str(explained.reasons["aten"])


@pytest.mark.parametrize("weights", FORMATS)
def test_cells_and_streams(weights: str) -> None:
    cell = anygru.GRUCell(5, 9, reset="before")
    frozen, thawed = cell.freeze(weights), cell.freeze(weights).thaw()
    x, h = torch.randn(3, 5), torch.randn(3, 9)
    with torch.no_grad():
        for arguments in ((x, h), (x,), (x[0], h[0])):
            kept = h.clone()
            near(frozen(*arguments), thawed(*arguments), weights)
            assert torch.equal(h, kept)
    layer = anygru.GRU(5, 9, 2).freeze(weights)
    steps = torch.randn(6, 2, 5)
    stream = layer.stream(2)
    together = torch.stack([stream.step(step) for step in steps[:3]] + list(stream.run(steps[3:])))
    assert torch.equal(together, layer(steps)[0])
    assert stream._prepared is layer.frozen_weights.prepared, "the packed copy is shared"
    copied = pickle.loads(pickle.dumps(stream))
    assert torch.equal(copied.run(steps), stream.run(steps))


@pytest.mark.parametrize("weights", FORMATS)
def test_files_copies_and_processes(weights: str, tmp_path: Any) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    layer = anygru.GRU(5, 9, 2, reset="before").freeze(weights)
    x = torch.randn(4, 3, 5)
    expected = layer(x)[0]
    state = layer.state_dict()
    assert list(layer.parameters()) == []
    assert {tensor.dtype for tensor in state.values() if tensor.dim() == 2} == {DTYPES[weights]}
    torch.save(state, tmp_path / "frozen.pt")
    safetensors.save_file(state, tmp_path / "frozen.safetensors")
    for loaded in (
        torch.load(tmp_path / "frozen.pt", weights_only=True),
        safetensors.load_file(tmp_path / "frozen.safetensors"),
    ):
        other = anygru.FrozenGRU(5, 9, 2, weights=weights, reset="before")
        assert not torch.equal(other(x)[0], expected)
        other.load_state_dict(loaded)
        assert torch.equal(other(x)[0], expected)
    whole = io.BytesIO()
    torch.save(layer, whole)
    whole.seek(0)
    copies = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), torch.load(whole, weights_only=False)]
    for other in copies:
        assert torch.equal(other(x)[0], expected)
        assert other.state_dict().keys() == state.keys()
    copies[0].load_state_dict(anygru.GRU(5, 9, 2, reset="before").freeze(weights).state_dict())
    assert torch.equal(layer(x)[0], expected), "a copy that loads does not change the original"
    found: list[torch.Tensor] = []
    threads = [threading.Thread(target=lambda: found.append(layer(x)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(one, expected) for one in found)


def in_child(layer: anygru.FrozenGRU, x: torch.Tensor, queue: Any) -> None:
    queue.put(layer(x)[0].numpy())


def test_a_forked_child_computes_with_the_same_copy() -> None:
    layer, x = anygru.GRU(5, 9).freeze("int8"), torch.randn(4, 3, 5)
    expected = layer(x)[0]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(layer, x, queue))
    child.start()
    assert torch.equal(torch.from_numpy(queue.get(timeout=600)), expected)
    child.join()


def test_compensated_rounding_costs_less_where_weights_resemble_each_other() -> None:
    weight = torch.randn(60, 3) @ torch.randn(3, 90) + 0.1 * torch.randn(60, 90)
    stored = quantize(weight, "int8")
    values, scale = stored
    assert scale is not None
    nearest = torch.round(weight / scale.unsqueeze(1))
    errors = [(weight - rounded * scale.unsqueeze(1)) @ weight.T for rounded in (values, nearest)]
    assert errors[0].norm() < 0.7 * errors[1].norm()
    assert (values - nearest).abs().max() <= 2
    assert torch.equal(values.abs().amax(1), torch.full((60,), 127, dtype=torch.int8)), (
        "the scale is still that of the row"
    )
    assert torch.equal(quantize(dequantize(stored), "int8").values, values)
    assert values.is_contiguous()
    for special in (torch.zeros(6, 3), torch.zeros(6, 0), torch.full((6, 3), 1e-45), torch.full((6, 3), 3e38)):
        assert torch.equal(quantize(special, "int8").values, 127 * (special > 1).char())


def test_buffers_are_let_go_and_come_back() -> None:
    layer, x = anygru.GRU(5, 9).freeze("int8"), torch.randn(4, 3, 5)
    before = layer(x)[0]
    assert layer.__dict__["_buffers"] == {}
    names = [name for name, _ in torch.nn.Sequential(layer).named_buffers()]
    assert "0.weight_hh_l0" in names
    assert "0.weight_hh_l0_scale" in names
    assert torch.equal(layer(x)[0], before)
    assert layer.__dict__["_buffers"] == {}
    layer.weight_ih_l0_scale.mul_(2)
    assert not torch.equal(layer(x)[0], before), "a change to a buffer counts"
    layer.weight_ih_l0_scale = layer.weight_ih_l0_scale / 2
    assert torch.equal(layer(x)[0], before)
    layer.register_buffer("own", torch.ones(1))
    layer(x)
    assert layer.own.item() == 1
    assert layer.double().weight_ih_l0.dtype is torch.int8
    shape, emptied = layer.weight_ih_l0_scale.shape, layer.to("meta").to_empty(device="cpu").weight_ih_l0_scale
    assert (emptied.shape, emptied.device.type) == (shape, "cpu")
    # Not torch.equal: the memory is not initialized, and may be NaN.
    assert emptied.data_ptr() == layer.weight_ih_l0_scale.data_ptr()


@pytest.mark.parametrize("weights", FORMATS)
def test_thaw_gives_the_weights_as_they_are(weights: str) -> None:
    layer = anygru.GRU(5, 9, 2, dropout=0.25, bidirectional=True, batch_first=True, reset="before")
    frozen = layer.freeze(weights)
    thawed = frozen.thaw()
    assert repr(thawed) == repr(layer)
    assert all(parameter.requires_grad for parameter in thawed.parameters())
    x = torch.randn(2, 3, 5)
    near(thawed.eval()(x)[0], frozen(x)[0], weights)
    for parameter, stored in zip(thawed.parameters(), frozen.stored(), strict=True):
        assert torch.equal(parameter, dequantize(stored))
    thawed(x)[0].sum().backward()


def test_parametrized_weights_are_taken_as_computed() -> None:
    x = torch.randn(4, 3, 5)
    for layer in (anygru.GRU(5, 9), torch.nn.GRU(5, 9)):
        torch.nn.utils.parametrizations.weight_norm(layer, "weight_hh_l0")
        old = torch.nn.GRU(5, 9)
        with pytest.warns(FutureWarning, match="weight_norm"):
            torch.nn.utils.weight_norm(old, "weight_hh_l0")
        with torch.no_grad():
            layer.parametrizations.weight_hh_l0.original0.mul_(2)
            old.weight_hh_l0_g.mul_(2)
            model = torch.nn.ModuleList([layer, old])
            expected = [module(x)[0] for module in model]
        assert len(anygru.freeze(model).changed) == 2
        for module, output in zip(model, expected, strict=True):
            close(module(x)[0], output)


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("reparametrize", [torch.nn.utils.weight_norm, prune.identity])
def test_weights_that_a_hook_computes_are_those_of_now(reparametrize: Any) -> None:
    layer, cell, x = anygru.GRU(5, 9), anygru.GRUCell(5, 9), torch.randn(4, 3, 5)
    reparametrize(layer, "weight_hh_l0")
    reparametrize(cell, "weight_ih")
    stream = layer.stream(3)
    with torch.no_grad():
        for parameter in (*layer.parameters(), *cell.parameters()):
            parameter.mul_(1.5)
        stream.refresh()
        found = layer.freeze()(x)[0], cell.freeze()(x[0]), stream.run(x)
        expected = layer(x)[0], cell(x[0]), layer(x)[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def doubling(base: Any) -> Any:
    class Doubling(base):
        def forward(self, *call: Any) -> Any:
            return 2 * super().forward(*call)[0]

    return Doubling


def test_freeze_walks_a_model() -> None:
    model = torch.nn.ModuleDict(
        {
            "torch": torch.nn.GRU(3, 4, 2, batch_first=True, dropout=0.5),
            "cell": torch.nn.GRUCell(3, 4, bias=False),
            "own": anygru.GRU(3, 4, reset="before"),
            "own_cell": anygru.GRUCell(3, 4),
            "inner": torch.nn.Sequential(torch.nn.LSTM(3, 4)),
            "wide": torch.nn.GRU(3, 4).double(),
            "hooked": torch.nn.GRU(3, 4),
        }
    ).eval()
    model["hooked"].register_forward_hook(lambda module, given, output: None)
    model["again"] = model["torch"]
    x = torch.randn(2, 5, 3)
    expected = model["torch"](x)[0]
    cell = model["cell"](x[0])
    report = anygru.freeze(model)
    assert set(report.changed) == {"torch = again", "cell", "own", "own_cell"}
    assert "call the layer's float() first" in report.unchanged["wide"]
    assert "hooks" in report.unchanged["hooked"]
    assert "LSTM is no GRU" in report.unchanged["inner.0"]
    assert str(report).startswith("frozen 4 modules\n  torch = again: FrozenGRU(3, 4, num_layers=2")
    assert model["again"] is model["torch"]
    assert type(model["torch"]) is anygru.FrozenGRU
    close(model["torch"](x)[0], expected)
    close(model["cell"](x[0]), cell)
    own = torch.nn.ModuleList([make(3, 4) for make in (doubling(torch.nn.GRU), doubling(anygru.GRU))])
    assert all("`forward` of its own" in reason for reason in anygru.freeze(own).unchanged.values())
    assert [type(module).__name__ for module in own] == ["Doubling"] * 2
    model["torch"].flatten_parameters()  # calls of code around a torch.nn.GRU
    again = anygru.freeze(model)
    assert again.unchanged["own"] == "already frozen"
    assert anygru.accelerate(model).unchanged["own"] == "computes through anygru already"
    for model in (torch.nn.GRU(3, 4), anygru.GRUCell(3, 4)):
        with pytest.raises(anygru.ArgumentError, match="model is itself a GRU"):
            anygru.freeze(model)


@pytest.mark.compiles
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("weights", ["bfloat16_rows", "int8"])
def test_a_frozen_layer_compiles(weights: str) -> None:
    torch._dynamo.reset()
    layer, x = anygru.GRU(5, 9, 2).freeze(weights), torch.randn(4, 3, 5)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x)[0], layer(x)[0])


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:At pre-dispatch tracing:UserWarning")  # torch 2.4
@pytest.mark.filterwarnings("ignore:You are using `torch.load`:FutureWarning")  # torch 2.4, of itself
@pytest.mark.filterwarnings("ignore:The given buffer is not writable:UserWarning")  # torch 2.10 reads its own file so
def test_graphs_have_one_node() -> None:
    layer, x = anygru.GRU(5, 9, 2).freeze("int8"), torch.randn(4, 3, 5)
    lengths = torch.tensor([2, 0, 4])
    exported = torch.export.export(layer, (x,), {"lengths": lengths})
    calls = [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]
    assert sum(call.startswith("anygru.frozen_gru.") for call in calls) == 1
    assert exported.state_dict["weight_ih_l0"].dtype is torch.int8
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    again = torch.export.load(file).module()
    for own, given in ((lengths, {"lengths": lengths}), (None, {"lengths": torch.tensor([4, 4, 4])})):
        assert torch.equal(again(x, **given)[0], layer(x, **given)[0]), own
    traced = torch.jit.trace(anygru.GRU(5, 9, 2, reset="before").freeze("int8"), (x,))
    assert "weight_ih_l0" in dict(traced.named_buffers())
    assert traced(torch.randn(4, 2, 5))[0].shape == (4, 2, 9)
    model = torch.nn.Sequential(torch.nn.Linear(5, 5), layer)
    near(torch.jit.trace(model, (x,))(x)[0], layer(model[0](x).detach())[0], "int8")  # its input requires a gradient
    with pytest.raises(TypeError, match=r"torch.jit.script cannot compile anygru.FrozenGRU"):
        torch.jit.script(layer)


def test_explain() -> None:
    layer = anygru.GRU(5, 9)
    x = torch.randn(4, 3, 5)
    text = str(anygru.explain(layer.freeze("int8"), x)).splitlines()
    packed = anygru.backends.cpu_calls.native is not None
    assert text[0].split("  ")[-1].startswith("computes this call with int8 weights, packed once" if packed else "no")
    assert "dequantized at each call" in str(anygru.explain(anygru.GRU(5, 9, activation=torch.sin).freeze("int8"), x))
    assert anygru.explain(anygru.GRUCell(5, 9).freeze(), x[0]).backend == anygru.explain(layer, x).backend
    with pytest.raises(ValueError, match="I = 5"):
        anygru.explain(layer.freeze(), torch.randn(4, 3, 6))


def refused(name: str, value: Any, weights: str = "int8") -> str:
    """The error of load_state_dict for one changed entry; no entry may be loaded."""
    layer, x = anygru.GRU(5, 9).freeze(weights), torch.randn(4, 3, 5)
    before = layer(x)[0]
    state = {key: tensor.clone() for key, tensor in anygru.GRU(5, 9).freeze(weights).state_dict().items()}
    state[name] = value(state[name]) if callable(value) else value
    with pytest.raises(RuntimeError) as error:
        layer.load_state_dict(state)
    assert torch.equal(layer(x)[0], before), "nothing is half loaded"
    return str(error.value)


def test_wrong_buffers_are_refused_by_name() -> None:
    x = torch.randn(4, 3, 5)
    wrong: list[tuple[str, Any, str]] = [
        ("weight_hh_l0_scale", lambda t: t * 0, "weight_hh_l0_scale: scales must be positive"),
        ("weight_hh_l0_scale", lambda t: t.double(), "must be torch.float32"),
        ("weight_hh_l0", lambda t: t.fill_(-128), "one is -128"),
        ("weight_ih_l0", lambda t: t[:, :3], r"FrozenGRU.weight_ih_l0: must be \[27, 5\], got \[27, 3\]"),
        ("weight_ih_l0", lambda t: None, "must be a tensor, got NoneType"),
    ]
    for name, change, message in wrong:
        layer = anygru.GRU(5, 9).freeze("int8")
        expected, right = layer(x)[0], getattr(layer, name).clone()
        setattr(layer, name, change(getattr(layer, name)))
        for _ in range(2):
            with pytest.raises(ValueError, match=message):
                layer(x)
        setattr(layer, name, right)
        assert torch.equal(layer(x)[0], expected)
    with pytest.raises(AttributeError, match="weights"):
        layer.weights = "bfloat16"


def test_wrong_state_dicts_are_refused_whole() -> None:
    scale = "weight_hh_l0_scale"
    assert "scales must be positive and finite, and one is 0" in refused(scale, lambda t: t * 0)
    assert "one is -" in refused(scale, lambda t: -t)
    for wrong in ("nan", "inf"):
        said = refused(scale, lambda t, w=wrong: t * float(w))
        assert f"{scale}: scales must be positive and finite, and one is {wrong}" in said
    assert "must be [27, 9], got [27, 8]" in refused("weight_hh_l0", lambda t: t[:, :8])
    said = refused("weight_hh_l0", lambda t: t.float())
    assert "must be torch.int8 in a layer with weights='int8', got torch.float32" in said
    assert "weights='float32', got torch.bfloat16" in refused("weight_hh_l0", lambda t: t.bfloat16(), "float32")
    assert "one is -128" in refused("weight_ih_l0", lambda t: t.fill_(-128))
    assert "must be a tensor, got list" in refused("bias_ih_l0", [1.0])
    assert "no values, since it is on the device meta" in refused("weight_hh_l0", lambda t: t.to("meta"))
    assert "Unexpected key" in refused("weight_ih_l1", torch.ones(1))
    small = anygru.FrozenGRU(5, 8, weights="int8")
    with pytest.raises(RuntimeError, match=r"weight_ih_l0: must be \[24, 5\], got \[27, 5\]"):
        small.load_state_dict(anygru.GRU(5, 9).freeze("int8").state_dict())
    with pytest.raises(RuntimeError, match="reset='after', the weights are for reset='before'"):
        small.load_state_dict(anygru.GRU(5, 8, reset="before").freeze("int8").state_dict())
    with pytest.raises(RuntimeError, match="Missing key"):
        small.load_state_dict({})
    with pytest.raises(RuntimeError, match=r"of a frozen layer.*FrozenGRU\(\.\.\., weights='int8'\)"):
        anygru.GRU(5, 8).load_state_dict(small.state_dict(), strict=False)


def test_bad_calls_are_refused_by_name() -> None:
    layer = anygru.GRU(5, 9, 2, dropout=0.5).freeze("int8")
    x, h_0 = torch.randn(4, 3, 5), torch.randn(2, 3, 9)
    with pytest.raises(ValueError, match=r"input requires a gradient, and a frozen layer computes none.*thaw\(\)"):
        layer(x.clone().requires_grad_())
    with pytest.raises(ValueError, match="h_0 requires a gradient"):
        layer(x, h_0.clone().requires_grad_())
    with torch.no_grad():
        layer(x.clone().requires_grad_())
    with pytest.raises(ValueError, match="input requires a gradient"):
        torch.func.jvp(lambda given: layer(given)[0], (x,), (x,))
    with pytest.raises(ValueError, match="return_states: a frozen layer"):
        layer(x, return_states=True)
    for option in ({"norm": "layer"}, {"zoneout": 0.5}):
        with pytest.raises(ValueError, match="no layer norm and no zoneout"):
            anygru.GRU(5, 9, **option).freeze()
    layer.train()
    with pytest.raises(ValueError, match="dropout acts while training"):
        layer(x)
    layer.eval()
    with pytest.raises(TypeError, match=r"input of a frozen layer must be torch.float32 on cpu.* got torch.float64"):
        layer(x.double())
    with pytest.raises(TypeError, match="h_0 must be torch.float32"):
        layer(x, h_0.double())
    with pytest.raises(ValueError, match="I = 5 features"):
        layer(torch.randn(4, 3, 6))
    with pytest.raises(ValueError, match="h_0 must be"):
        layer(x, h_0[:1])
    with pytest.raises(ValueError, match="^weights must be one of float32, bfloat16, bfloat16_rows, int8, got 'int4'"):
        anygru.GRU(5, 9).freeze("int4")
    with pytest.raises(ValueError, match="'int4'"):
        anygru.freeze(torch.nn.Sequential(), weights="int4")
    with pytest.raises(TypeError, match="float32, and weight_ih_l0 is torch.float64"):
        anygru.GRU(5, 9, dtype=torch.float64).freeze()
    with pytest.raises(ValueError, match="no input yet"):
        anygru.GRU(None, 9).freeze()
    broken = anygru.GRU(5, 9)
    with torch.no_grad():
        broken.weight_hh_l0[0, 0] = float("nan")
    with pytest.raises(ValueError, match="weight_hh_l0: int8 holds finite weights only"):
        broken.freeze("int8")
    assert torch.isnan(broken.freeze("bfloat16")(x)[0]).any()
