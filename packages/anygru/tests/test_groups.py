"""Groups of hidden units: each is a separate GRU in float64 NumPy, on every backend and in every kind of call of a layer."""

import copy
import io
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import all_close, close, mostly_slow, numpy_sequence
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence

import anygru
from anygru.facts.weights import Weights
from anygru.functional import gru, gru_cell

KINDS: dict[str, dict[str, Any]] = {
    "recurrent": {"groups": 2},
    "input too": {"groups": 3, "input_groups": 3},
    "two directions": {"groups": 2, "input_groups": 2, "num_layers": 2, "bidirectional": True},
    "before": {"groups": 3, "reset": "before", "num_layers": 2},
    "no bias": {"groups": 6, "input_groups": 6, "bias": False, "bidirectional": True},
    "one unit a group": {"groups": 12, "reset": "before", "bidirectional": True},
}
I, H = 6, 12  # noqa: E741


def make(name: str, seed: int = 0, **options: Any) -> anygru.GRU:
    torch.manual_seed(seed)
    return anygru.GRU(I, H, **{"dtype": torch.float64, **KINDS[name], **options})


def numpy_groups(layer: anygru.GRU, x: Tensor, h_0: Tensor, lengths: list[int] | None = None) -> tuple[Tensor, Tensor]:
    """Every group of every direction is one GRU, independent of all other groups; x [T, B, I]."""
    layout, units = layer._layout, H // layer.groups
    weights = [weight.detach().double().numpy() for weight in layer.flat_weights]
    below, h_n = x.detach().double().numpy(), h_0.detach().double().numpy().copy()
    for number in range(layer.num_layers):
        out = np.zeros((*below.shape[:2], layout.directions() * H))
        width = below.shape[2] // layer.groups
        for direction in range(layout.directions()):
            own = weights[layout.of_direction(number, direction)]
            place = number * layout.directions() + direction
            for group in range(layer.groups):
                columns = slice(group * units, (group + 1) * units)
                reads = slice(group * width, (group + 1) * width) if layer.input_groups > 1 else slice(None)
                for b in range(below.shape[1]):
                    length = len(below) if lengths is None else lengths[b]
                    done = numpy_sequence(
                        below[:length, b, reads],
                        h_n[place, b, columns],
                        [one[group] for one in own],
                        layer.reset,
                        direction == 1,
                    )
                    out[:length, b, direction * H :][:, columns], h_n[place, b, columns] = done
        below = out
    return torch.from_numpy(below), torch.from_numpy(h_n)


def call(layer: anygru.GRU, steps: int = 5, batch: int = 3, seed: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    states = layer.num_layers * (2 if layer.bidirectional else 1)
    like = {"generator": generator, "dtype": torch.float64}
    return torch.randn(steps, batch, I, **like), torch.randn(states, batch, H, **like)


@pytest.mark.parametrize("backend", ["cpu", "reference", "aten"])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("lengths", [None, [3, 5, 0]])
def test_against_numpy(name: str, backend: str, lengths: list[int] | None) -> None:
    layer = make(name, backend=backend)
    if backend == "aten" and layer.reset == "before":
        pytest.skip("torch's own GRU knows reset='after' only")
    x, h_0 = call(layer)
    expected = numpy_groups(layer, x, h_0, lengths)
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            all_close(layer(x, h_0, lengths), expected, grad=grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", KINDS)
def test_other_dtypes(name: str, dtype: torch.dtype) -> None:
    layer = make(name, dtype=dtype)
    x, h_0 = call(layer, batch=7)
    expected = numpy_groups(layer, x.to(dtype), h_0.to(dtype))
    all_close(layer(x.to(dtype), h_0.to(dtype)), expected)


@pytest.mark.parametrize("name", KINDS)
def test_many_units_and_rows_on_several_threads(name: str) -> None:
    torch.manual_seed(0)
    options = {**KINDS[name], "groups": 4, "input_groups": 4 if "input_groups" in KINDS[name] else 1}
    layer = anygru.GRU(20, 148, **options)
    x = torch.randn(9, 35, 20)
    expected = anygru.GRU.around(
        layer.weights.ungrouped(), reset=layer.reset, backend="aten" if layer.reset == "after" else None
    )
    threads = torch.get_num_threads()
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            all_close(layer(x), expected(x), threads=count)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("lengths", "fast"), mostly_slow([([2, 3], True), (None, True), ([2, 3], False), (None, False)])
)
def test_gradients_by_finite_differences(name: str, lengths: list[int] | None, fast: bool) -> None:
    layer = make(name)
    x, h_0 = call(layer, steps=3, batch=2)
    names = [key for key, _ in layer.named_parameters()]
    decay = torch.rand(3, 2, H, dtype=torch.float64) if layer.num_layers * (1 + layer.bidirectional) == 1 else None

    def compute(x: Tensor, h_0: Tensor, *rest: Tensor) -> Any:
        own = dict(zip(names, rest, strict=False))
        return torch.func.functional_call(
            layer, own, (x, h_0, lengths), {"decay": rest[len(names)] if decay is not None else None}
        )

    tensors = [x, h_0, *(p.detach() for p in layer.parameters()), *([] if decay is None else [decay])]
    assert torch.autograd.gradcheck(compute, [one.clone().requires_grad_() for one in tensors], fast_mode=fast)


@pytest.mark.parametrize("reset", ["after", "before"])
def test_gradients_of_more_rows_than_the_cache_holds(reset: str) -> None:
    results = []
    for backend in ("cpu", "reference"):
        torch.manual_seed(3)
        options = {"reset": reset, "norm": "layer", "backend": backend, "dtype": torch.float64}
        layer = anygru.GRU(6, 72, groups=3, input_groups=3, **options)
        x = torch.randn(32, 100, 6, dtype=torch.float64, requires_grad=True)
        decay = torch.rand(32, 100, 1, dtype=torch.float64, requires_grad=True)
        layer(x, decay=decay)[0].square().mean().backward()
        results.append([x.grad, decay.grad, *(parameter.grad for parameter in layer.parameters())])
    all_close(*results)


@pytest.mark.parametrize("name", ["input too", "before"])
def test_second_derivatives(name: str) -> None:
    layer = make(name)
    x, h_0 = call(layer, steps=2, batch=1)
    x, h_0 = x.requires_grad_(), h_0.requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x, h: layer(x, h)[0], (x, h_0))


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize(
    "extra",
    [
        {"zoneout": 0.3},
        {"recurrent_dropout": 0.4},
        {"recurrent_dropout": 0.4, "recurrent_dropout_on": "candidate"},
        {"norm": "layer"},
        {"dropout": 0.5},
        {"weight_dropout": 0.3},
        {"gradient_clipping": 0.02},
    ],
    ids=str,
)
def test_options_on_every_backend(reset: str, extra: dict[str, Any]) -> None:
    results = []
    for backend in ("cpu", "reference"):
        torch.manual_seed(0)
        layer = anygru.GRU(
            8,
            H,
            2,
            bidirectional=True,
            groups=4,
            input_groups=4,
            reset=reset,
            backend=backend,
            dtype=torch.float64,
            **extra,
        )
        x = torch.randn(5, 3, 8, dtype=torch.float64, requires_grad=True)
        resets = torch.tensor([[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]])
        stored = torch.randn(4, 5, 3, H, dtype=torch.float64, requires_grad=True)
        decay = torch.rand(4, 5, 3, 1, dtype=torch.float64, requires_grad=True)
        output, h_n = layer(x, None, resets=resets, decay=decay, reset_states=stored)
        (output.pow(2).sum() + h_n.sum()).backward()
        results.append([output, h_n, x.grad, stored.grad, decay.grad, *(p.grad for p in layer.parameters())])
    all_close(*results)


def test_a_group_with_a_norm_is_a_layer_with_a_norm() -> None:
    layer = anygru.GRU(5, 12, groups=3, norm="layer", dtype=torch.float64)
    x = torch.randn(4, 2, 5, dtype=torch.float64)
    output, _ = layer(x)
    for group in range(3):
        own = Weights.of([weight[group] for weight in layer.flat_weights], norm=True)
        close(output[..., 4 * group : 4 * group + 4], anygru.GRU.around(own)(x)[0])
    with pytest.raises(anygru.ArgumentError, match="separate layer norm"):
        layer.ungrouped()


@pytest.mark.parametrize("backend", [None, "reference", "aten"])
def test_a_cell_is_a_step_of_the_layer(backend: str | None) -> None:
    torch.manual_seed(0)
    cell = anygru.GRUCell(6, 12, groups=3, input_groups=3, dtype=torch.float64, backend=backend)
    layer = anygru.GRU.around(Weights.of(list(cell.parameters()), groups=3, splits_input=True))
    x, h = torch.randn(4, 2, 6, dtype=torch.float64), torch.randn(2, 12, dtype=torch.float64, requires_grad=True)
    expected = layer(x, h[None])[0]
    gradients = torch.autograd.grad(expected.sum(), [h, *cell.parameters()])
    state = h
    for t in range(4):
        state = cell(x[t], state)
        close(state, expected[t])
    del state
    outputs, state = [], h
    for t in range(4):
        state = cell(x[t], state)
        outputs.append(state)
    found = torch.autograd.grad(torch.stack(outputs).sum(), [h, *cell.parameters()])
    all_close(found, gradients)
    with torch.no_grad():
        close(cell(x[0], h), expected[0])
        close(cell(x[0, 0], h[0]), expected[0, 0])
        ways = gru_cell(x[0], h, *cell.parameters(), groups=3, input_groups=3)
    close(ways, expected[0])
    close(cell.ungrouped()(x[0], h), expected[0])


@pytest.mark.parametrize("name", KINDS)
def test_a_layer_without_groups_computes_the_same(name: str) -> None:
    layer = make(name)
    x, h_0 = call(layer)
    flat = layer.ungrouped()
    assert flat.groups == 1
    assert all(parameter.requires_grad for parameter in flat.parameters())
    all_close(flat(x, h_0), layer(x, h_0))


def test_forms_of_batches_and_the_functional_form() -> None:
    layer = make("two directions")
    x, h_0 = call(layer, steps=5, batch=3)
    padded = layer(x, h_0, [2, 5, 3])[0]
    packed, _ = layer(pack_padded_sequence(x, [2, 5, 3], enforce_sorted=False), h_0)
    close(packed.data, layer(x, h_0, [2, 5, 3])[0][packed_places([2, 5, 3])])
    listed, _ = layer([x[:2, 0], x[:, 1], x[:3, 2]], h_0)
    close(listed[1], padded[:, 1])
    close(layer(x[:, 0], h_0[:, 0])[0], layer(x, h_0)[0][:, 0])
    options = {"bidirectional": True, "groups": 2, "input_groups": 2, "return_states": True}
    output, h_n, states = gru(x.transpose(0, 1), h_0, layer.flat_weights, batch_first=True, **options)
    close(output, layer(x, h_0)[0].transpose(0, 1))
    close(states[2, :, -1], h_n[2])


def packed_places(lengths: list[int]) -> tuple[Tensor, Tensor]:
    order = sorted(range(len(lengths)), key=lambda b: -lengths[b])
    places = [(t, b) for t in range(max(lengths)) for b in order if lengths[b] > t]
    return torch.tensor([t for t, _ in places]), torch.tensor([b for _, b in places])


@pytest.mark.parametrize("weights", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("name", ["recurrent", "two directions", "before", "no bias"])
def test_frozen(name: str, weights: str) -> None:
    layer = make(name, dtype=torch.float32)
    x, h_0 = (one.float() for one in call(layer))
    frozen = layer.freeze(weights)
    assert f"groups={layer.groups}" in repr(frozen)
    with torch.no_grad():
        found = frozen(x, h_0)
        if weights == "float32":
            assert all(map(torch.equal, found, layer(x, h_0)))
        thawed = frozen.thaw()
        assert (thawed.groups, thawed.input_groups) == (layer.groups, layer.input_groups)
        torch.testing.assert_close(found, thawed(x, h_0), rtol=0, atol=1e-4 if weights == "int8" else 1e-5)
        plain = type(frozen)(I, H, layer.num_layers, weights=weights, backend="reference", bias=layer.bias,
                             bidirectional=layer.bidirectional, reset=layer.reset, groups=layer.groups,
                             input_groups=layer.input_groups)  # fmt: skip
        plain.load_state_dict(frozen.state_dict())
        torch.testing.assert_close(found, plain(x, h_0), rtol=0, atol=1e-5)
        again = pickle.loads(pickle.dumps(frozen))
        assert torch.equal(again(x, h_0)[0], found[0])
        ragged = frozen(x, h_0, [3, 5, 1])[0]
        torch.testing.assert_close(ragged, plain(x, h_0, [3, 5, 1])[0], rtol=0, atol=1e-5)
        assert torch.equal(copy.deepcopy(frozen)(x, h_0)[0], found[0])


def test_a_frozen_cell() -> None:
    cell = anygru.GRUCell(6, 12, groups=3)
    x, h = torch.randn(2, 6), torch.randn(2, 12)
    with torch.no_grad():
        assert torch.equal(cell.freeze()(x, h), cell(x, h))
        torch.testing.assert_close(cell.freeze("int8")(x, h), cell(x, h), rtol=0, atol=3e-2)
    assert cell.freeze("int8").thaw().groups == 3


@pytest.mark.parametrize("weights", [None, "float32", "int8"])
@pytest.mark.parametrize("reset", ["after", "before"])
def test_streams_and_chunks_are_the_whole_sequence(weights: str | None, reset: str) -> None:
    torch.manual_seed(0)
    layer: Any = anygru.GRU(6, 12, 2, groups=3, input_groups=3, reset=reset)
    layer = layer if weights is None else layer.freeze(weights)
    x = torch.randn(7, 4, 6)
    resets = torch.zeros(7, 4, dtype=torch.bool)
    resets[3, 1] = True
    with torch.no_grad():
        expected, h_n = layer(x, resets=resets)
    stream = layer.stream(batch_size=4)
    assert stream.native is not None
    found = [stream.run(x[:2]), stream.step(x[2]).unsqueeze(0), stream.run(x[3:5], resets[3:5]), stream.run(x[5:])]
    close(torch.cat(found), expected)
    close(stream.state, h_n)
    stepper = anygru.stepper(torch.nn.Sequential(layer), torch.randn(5, 4, 6), batch_size=4)
    with anygru.SessionPool(layer, capacity=3).open() as session:
        alone = [session.step(step) for step in x[:3, 0]]
    for t in range(3):
        close(stepper.step(x[t]), expected[t])
        close(alone[t], expected[t, 0])


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
@pytest.mark.compiles
def test_compiled_and_exported() -> None:
    layer = make("two directions", dtype=torch.float32)
    x = torch.randn(5, 3, I, requires_grad=True)
    compiled = torch.compile(layer, fullgraph=True)
    found, expected = compiled(x)[0], layer(x)[0]
    close(found, expected)
    wanted = torch.autograd.grad(expected.sum(), [x, *layer.parameters()])
    all_close(torch.autograd.grad(found.sum(), [x, *layer.parameters()]), wanted)
    steps = torch.export.Dim("steps", min=2)
    for model in (layer.eval(), layer.freeze("int8")):
        program = torch.export.export(model, (x.detach(),), dynamic_shapes=({0: steps},))
        longer = torch.randn(9, 3, I)
        with torch.no_grad():
            close(program.module()(longer)[0], model(longer)[0])


def test_transforms() -> None:
    layer = make("recurrent")
    x, _ = call(layer)
    weights = {name: parameter.detach() for name, parameter in layer.named_parameters()}

    def loss(weights: dict[str, Tensor], one: Tensor) -> Tensor:
        return torch.func.functional_call(layer, weights, (one,))[0].pow(2).sum()

    found = torch.func.vmap(torch.func.grad(loss), (None, 1))(weights, x)
    for b in range(3):
        expected = torch.func.grad(loss)(weights, x[:, b])
        for name, gradient in expected.items():
            close(found[name][b], gradient)


def test_initial_values_state_dict_and_lazy_layers() -> None:
    torch.manual_seed(0)
    layer = anygru.GRU(6, 64, groups=16, input_groups=1)
    assert layer.weight_ih_l0.shape == (16, 12, 6)
    assert layer.weight_hh_l0.shape == (16, 12, 4)
    assert layer.bias_hh_l0.shape == (16, 12)
    assert 0.9 / math.sqrt(4) < layer.weight_hh_l0.abs().max() <= 1 / math.sqrt(4)
    other = anygru.GRU(6, 64, groups=16)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x = torch.randn(3, 2, 6)
    assert torch.equal(other(x)[0], layer(x)[0])
    for groups in (1, 8):
        with pytest.raises(RuntimeError, match="size mismatch"):
            anygru.GRU(6, 64, groups=groups).load_state_dict(layer.state_dict())
    lazy = anygru.GRU(None, 8, groups=2, input_groups=2)
    lazy(torch.randn(3, 2, 10))
    assert lazy.weight_ih_l0.shape == (2, 12, 5)
    with pytest.raises(ValueError, match="input_size must be a multiple of input_groups=2, got 9"):
        anygru.GRU(None, 8, groups=2, input_groups=2)(torch.randn(3, 2, 9))


def test_explained() -> None:
    told = anygru.explain(make("input too"), torch.randn(5, 3, I, dtype=torch.float64))
    assert told.backend == "cpu"
    assert "groups" in str(told.reasons["triton"]) or "CUDA" in str(told.reasons["triton"])
    assert told.problem.layout.groups == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": 5}, "hidden_size must be a multiple of groups=5, got 12"),
        ({"groups": 0}, "groups must be at least 1, got 0"),
        ({"groups": 4, "input_groups": 2}, r"input_groups must be 1 or equal to groups \(4\), got 2"),
        ({"groups": 4, "input_groups": 4}, "input_size must be a multiple of input_groups=4, got 6"),
        ({"groups": 2.0}, "groups must be an int, got float"),
    ],
)
def test_what_does_not_fit(options: dict[str, Any], words: str) -> None:
    for make in (anygru.GRU, anygru.GRUCell):
        with pytest.raises((ValueError, TypeError), match=words):
            make(6, 12, **options)


def test_errors_of_a_call_name_the_shapes(tmp_path: Path) -> None:
    layer = anygru.GRU(6, 12, groups=3, input_groups=3)
    with pytest.raises(ValueError, match="input must have I = 6 features as the weights have, got 5"):
        layer(torch.randn(4, 2, 5))
    weights = list(layer.flat_weights)
    weights[3] = torch.zeros(36)
    with pytest.raises(ValueError, match=r"weights\[3\] \(bias_hh of layer 0\) must be \[G, 3\*H/G\] = \[3, 12\]"):
        gru(torch.randn(4, 2, 6), None, weights, groups=3, input_groups=3)
    with pytest.raises(ValueError, match=r"weight_hh of layer 0\) must be \[3\*H, H\], got \[3, 12, 4\]"):
        gru(torch.randn(4, 2, 6), None, layer.flat_weights)
    with pytest.raises(anygru.ArgumentError, match="groups=3.*ungrouped"):
        anygru.export_c(layer, tmp_path / "model.c")


def test_checkpoints_keep_groups_or_refuse_them_by_name(tmp_path: Path) -> None:
    model = torch.nn.ModuleDict({"encoder": anygru.GRU(6, 12, groups=3), "head": torch.nn.Linear(12, 2)})
    for name in ("model.pt", "model.safetensors"):
        anygru.save_checkpoint(model, tmp_path / name)
        tensors = anygru.load_checkpoint(tmp_path / name).tensors
        for key, value in model.state_dict().items():
            assert torch.equal(torch.as_tensor(tensors[key]), value)
    with pytest.raises(anygru.CheckpointError, match=r"encoder.weight_hh_l0 \(it is of a GRU with groups.*ungrouped"):
        anygru.save_checkpoint(model, tmp_path / "model.pdparams")
    model["encoder"] = model["encoder"].ungrouped()
    anygru.save_checkpoint(model, tmp_path / "model.pdparams")
    model["encoder"] = anygru.GRU(6, 12, norm="layer")
    with pytest.raises(anygru.CheckpointError, match="layer norm, which paddle has not"):
        anygru.save_checkpoint(model, tmp_path / "model.pdparams")
