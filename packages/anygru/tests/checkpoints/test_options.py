"""An option that a file gives a GRU is computed, or refused by its name; never taken for another."""

import json
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from samples import write_onnx
from torch.nn.utils import parametrize, prune

import anygru
from anygru.checkpoints import equations, load_checkpoint, save_checkpoint
from anygru.checkpoints.reading import content
from anygru.checkpoints.writing.convert import convert
from anygru.errors import CheckpointError
from anygru.facts.formula import ACTIVATIONS
from anygru.functional import gru

MARKS = [
    {"activation": "mish"},
    {"activation": 5},
    {"reset": "sideways"},
    {"direction": "both"},
    {"norm": "layer"},
    {"gate_activation": ["relu"]},
    {7: "x"},
]


def marked(path: Path, mark: dict[object, object]) -> Path:
    """A GRU with metadata of such a formula."""
    state = anygru.GRU(3, 4).state_dict()
    if path.suffix == ".pt":
        tree = OrderedDict(state)
        tree._metadata = {"": {"anygru.formula": mark}}
        torch.save(tree, path)
        return path
    save_checkpoint(dict(state), path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"] = {"anygru.formula": json.dumps({"": mark})}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    return path


@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
@pytest.mark.parametrize("mark", MARKS, ids=str)
def test_a_formula_that_is_not_known_is_refused_by_its_name(
    mark: dict[object, object], ending: str, tmp_path: Path
) -> None:
    checkpoint = load_checkpoint(marked(tmp_path / f"x{ending}", mark))
    (key,) = mark
    with pytest.raises(CheckpointError, match=str(key)):
        checkpoint.gru()
    with pytest.raises(CheckpointError, match=str(key)):
        convert(tmp_path / f"x{ending}", tmp_path / "y.params")
    assert not (tmp_path / "y.params").exists()
    assert set(checkpoint.tensors) == set(anygru.GRU(3, 4).state_dict())


@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("reset", ["after", "before"])
def test_every_formula_of_the_core_comes_back(reset: str, activation: str, ending: str, tmp_path: Path) -> None:
    layer = anygru.GRU(3, 4, reset=reset, activation=activation, gate_activation="hardsigmoid")
    save_checkpoint(layer, tmp_path / f"x{ending}")
    x = torch.randn(5, 2, 3)
    assert torch.equal(load_checkpoint(tmp_path / f"x{ending}").gru()(x)[0], layer(x)[0])


def test_a_state_dict_that_torch_saves_tells_the_activations(tmp_path: Path) -> None:
    layer = anygru.GRU(3, 4, activation="relu")
    torch.save(layer.state_dict(), tmp_path / "x.pt")
    assert load_checkpoint(tmp_path / "x.pt").gru().activation == "relu"
    twin = anygru.GRU(3, 4, activation="relu")
    twin.load_state_dict(torch.load(tmp_path / "x.pt", weights_only=True))


def test_a_layer_that_reads_backwards_stays_one(tmp_path: Path) -> None:
    layer = anygru.onnx.ReverseGRU(3, 4, num_layers=2)
    x = torch.randn(5, 2, 3)
    for ending in (".pt", ".safetensors"):
        save_checkpoint(layer, tmp_path / f"x{ending}")
        assert torch.equal(load_checkpoint(tmp_path / f"x{ending}").gru()(x)[0], layer(x)[0])
    convert(tmp_path / "x.pt", tmp_path / "y.safetensors")
    assert torch.equal(load_checkpoint(tmp_path / "y.safetensors").gru()(x)[0], layer(x)[0])
    with pytest.raises(CheckpointError, match=r"its direction \(backwards\) have no place in a file of mxnet"):
        convert(tmp_path / "x.pt", tmp_path / "y.params")


def test_a_layer_that_reads_backwards_is_refused_where_it_would_read_forwards() -> None:
    layer = anygru.onnx.ReverseGRU(3, 4, zoneout=0.25).eval()
    x = torch.randn(5, 2, 3)
    assert torch.equal(layer(x)[0], gru(x, None, layer.flat_weights, reverse=True, zoneout=0.25)[0])
    with pytest.raises(ValueError, match="a frozen layer does not read backwards"):
        layer.freeze()
    with pytest.raises(ValueError, match="a stream needs a layer that reads forwards"):
        layer.stream()
    with pytest.raises(ValueError, match="model: a file in C has no layer that reads backwards only"):
        anygru.export_c(anygru.onnx.ReverseGRU(3, 4), "x.h", check=False)
    with pytest.raises(ValueError, match="layer must have one direction"):
        anygru.onnx.export_step(layer)
    with pytest.raises(ValueError, match="bidirectional must be False"):
        anygru.onnx.ReverseGRU(3, 4, bidirectional=True)


def test_a_frozen_layer_keeps_its_activations(tmp_path: Path) -> None:
    frozen = anygru.GRU(3, 4, activation="relu").freeze("int8")
    save_checkpoint(frozen, tmp_path / "x.safetensors")
    loaded = load_checkpoint(tmp_path / "x.safetensors").gru()
    x = torch.randn(5, 2, 3)
    assert torch.equal(loaded(x)[0], frozen(x)[0])


# -- ONNX -------------------------------------------------------------------------------------------------------


def node(path: Path, **attributes: object) -> Path:
    """A model of one GRU node."""
    onnx = pytest.importorskip("onnx")
    sides = 2 if attributes.get("direction") == "bidirectional" else 1
    draw = np.random.default_rng(1)
    shapes = {"W": (sides, 12, 3), "R": (sides, 12, 4), "B": (sides, 24)}
    arrays = {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    made = onnx.helper.make_node("GRU", ["x", "W", "R", "B"], ["y", "h"], "g", **{"hidden_size": 4, **attributes})
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return write_onnx(path, [made], stored, "x", "yh")


NAMES = ["Sigmoid", "Tanh", "Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"]
NAMES += ["Softsign", "Softplus"]
ATTRIBUTES: list[dict[str, object]] = [{"activations": ["Sigmoid", name]} for name in NAMES]
ATTRIBUTES += [{"activations": [name, "Tanh"]} for name in ("Relu", "HardSigmoid")]
ATTRIBUTES += [
    {"activations": ["HardSigmoid", "Tanh"], "activation_alpha": [1 / 6], "activation_beta": [0.5]},
    {"activations": ["Sigmoid", "Elu"], "activation_alpha": [0.5]},
    {"activations": ["Sigmoid", "Affine"], "activation_alpha": [1.0], "activation_beta": [0.0]},
    {"activations": ["Sigmoid", "Tanh"], "activation_alpha": [0.7]},
    *({"direction": direction} for direction in ("forward", "reverse", "bidirectional")),
    {"linear_before_reset": 1},
    {"linear_before_reset": 0},
    {"clip": 0.5},
    {"linear_before_reset": 1.0},
    {"hidden_size": 4.0},
    {"peepholes": 1},
]


@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=str)
def test_every_attribute_of_a_node_is_computed_or_refused(attributes: dict[str, object], tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    path = node(tmp_path / "m.onnx", **attributes)
    x = np.random.default_rng(2).standard_normal((5, 2, 3)).astype(np.float32)
    try:
        layer = load_checkpoint(path).gru()
    except CheckpointError as error:
        last = [str(value) for value in attributes.get("activations", [])]
        words = [*attributes, *last]
        assert any(word in str(error) for word in words), error  # noqa: PT017
        return
    expected = runtime.InferenceSession(path).run(None, {"x": x})
    y, h = layer(torch.from_numpy(x))
    sides = expected[0].shape[1]
    np.testing.assert_allclose(y.detach().reshape(5, 2, sides, 4).transpose(1, 2), expected[0], rtol=1e-4, atol=2e-6)
    np.testing.assert_allclose(h.detach(), expected[1], rtol=1e-4, atol=2e-6)


def stacked(path: Path, between: list[tuple[str, str, dict[str, object]]], **stored: object) -> Path:
    """Two nodes, and operators between them: each (its operator, its second input, its attributes)."""
    onnx = pytest.importorskip("onnx")
    draw = np.random.default_rng(1)
    shapes = {"W0": (1, 12, 3), "W1": (1, 12, 4), "R": (1, 12, 4), "B": (1, 24)}
    arrays = {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    arrays |= {name: np.asarray(value) for name, value in stored.items()}
    nodes = [onnx.helper.make_node("GRU", ["x", "W0", "R", "B"], ["v0"], "g0", hidden_size=4)]
    for number, (kind, second, attributes) in enumerate(between):
        inputs = [f"v{number}", *([second] if second else [])]
        nodes.append(onnx.helper.make_node(kind, inputs, [f"v{number + 1}"], **attributes))
    nodes.append(onnx.helper.make_node("GRU", [f"v{len(between)}", "W1", "R", "B"], ["y"], "g1", hidden_size=4))
    kept = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return write_onnx(path, nodes, kept, "x", "y")


SQUEEZE: tuple[str, str, dict[str, object]] = ("Squeeze", "one", {})
BETWEEN = {
    "squeeze": ([SQUEEZE], 1),
    "transpose and reshape": ([("Transpose", "", {"perm": [0, 2, 1, 3]}), ("Reshape", "flat", {})], 1),
    "sequences as steps": ([SQUEEZE, ("Transpose", "", {"perm": [1, 0, 2]})], 2),
    "rows in another order": ([("Reshape", "turned", {})], 2),
}


@pytest.mark.parametrize(("between", "layers"), BETWEEN.values(), ids=BETWEEN)
def test_nodes_are_one_stack_only_where_the_axes_stay(
    between: list[tuple[str, str, dict[str, object]]], layers: int, tmp_path: Path
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    path = stacked(tmp_path / "m.onnx", between, one=[1], flat=[0, 0, -1], turned=[2, 5, 4])
    checkpoint = load_checkpoint(path)
    assert len(checkpoint.gru_layers) == layers
    if layers == 1:
        x = torch.randn(5, 2, 3)
        (expected,) = runtime.InferenceSession(path).run(None, {"x": x.numpy()})
        np.testing.assert_allclose(checkpoint.gru()(x)[0].detach(), expected[:, 0], rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize(("name", "place"), [("sequence_lens", 4), ("initial_h", 5)])
@pytest.mark.parametrize("value", [0, 2])
def test_what_a_model_stores_for_a_call_is_told(name: str, place: int, value: int, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(node(tmp_path / "m.onnx"))
    array = np.full((2,), value, np.int32) if place == 4 else np.full((1, 2, 4), value, np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(array, "given"))
    model.graph.node[0].input.extend(["", "given"] if place == 5 else ["given"])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (found,) = load_checkpoint(tmp_path / "m.onnx").gru_layers
    assert any(name in note for note in found.notes) == bool(value)


def test_a_value_that_is_made_twice_is_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(node(tmp_path / "m.onnx"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((1, 12, 3), np.float32), "W"))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(CheckpointError, match="'W' is made twice"):
        load_checkpoint(tmp_path / "m.onnx")


def test_a_set_of_operators_of_the_future_is_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(node(tmp_path / "m.onnx"))
    model.opset_import[0].version = 500
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(CheckpointError, match="operator set 500"):
        load_checkpoint(tmp_path / "m.onnx")


WRONG_OPERATORS: dict[str, tuple[str, dict[str, object], list[str]]] = {
    "a float as an axis": ("Concat", {"axis": 1.0}, ["W", "W"]),
    "another output_dtype": ("DequantizeLinear", {"output_dtype": 10}, ["q", "s"]),
    "an axis twice": ("Slice", {}, ["W", "zeros", "twelves", "ones"]),
    "pieces of unlike sizes": ("Split", {"axis": 1}, ["W"]),
    "another's Constant": ("Constant", {"domain": "com.another", "value_int": 1}, []),
}


@pytest.mark.parametrize(("kind", "attributes", "inputs"), WRONG_OPERATORS.values(), ids=WRONG_OPERATORS)
def test_an_operator_that_onnx_has_not_is_refused(
    kind: str, attributes: dict[str, object], inputs: list[str], tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(node(tmp_path / "m.onnx"))
    outputs = ["V", "rest", "more", "others", "last"] if kind == "Split" else ["V"]
    model.graph.node.insert(0, onnx.helper.make_node(kind, inputs, outputs, **attributes))
    arrays = {"q": np.ones((1, 12, 3), np.int8), "s": np.float32(0.1), "ones": [1, 1], "zeros": [0, 0]}
    for name, array in (arrays | {"twelves": [12, 12]}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    model.graph.node[1].input[1] = "V"
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(CheckpointError, match=kind):
        load_checkpoint(tmp_path / "m.onnx")


# -- torch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["bias_ih_l0", "bias_hh_l0", "weight_hh_l0"])
@pytest.mark.parametrize("way", ["pruned", "parametrized"])
def test_a_part_that_is_computed_is_not_taken_for_missing(way: str, part: str, tmp_path: Path) -> None:
    layer = torch.nn.GRU(3, 4)
    if way == "pruned":
        prune.random_unstructured(layer, part, 0.5)
    else:
        parametrize.register_parametrization(layer, part, torch.nn.Tanh())
    torch.save(layer.state_dict(), tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match="no GRU"):
        load_checkpoint(tmp_path / "x.pt").gru()


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_notes_of_a_view_is_computed(zipped: bool, tmp_path: Path) -> None:
    values = torch.randn(3, dtype=torch.complex64)
    views = {"conj": values.conj(), "neg": values.clone().conj().imag}
    if not zipped:  # one storage has one dtype there
        views["neg"] = torch._neg_view(values.imag.clone())
    assert views["conj"].is_conj()
    assert views["neg"].is_neg()
    torch.save(views, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    found = load_checkpoint(tmp_path / "x.pt").tensors
    assert torch.equal(found["conj"], values.conj().resolve_conj())
    assert torch.equal(found["neg"], -values.imag)


def test_a_function_in_a_state_dict_is_refused(tmp_path: Path) -> None:
    torch.save(anygru.GRU(3, 4, activation=torch.sin).state_dict(), tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match="the function sin"):
        load_checkpoint(tmp_path / "x.pt").gru()


@pytest.mark.parametrize("saved_by", ["torch.pt", "anygru.pt", "anygru.safetensors", "convert.safetensors"])
@pytest.mark.parametrize("share", [0.3, 1e-5])
def test_zoneout_comes_back(share: float, saved_by: str, tmp_path: Path) -> None:
    layer = anygru.GRU(3, 4, num_layers=2, zoneout=share).eval()
    path = tmp_path / f"x{Path(saved_by).suffix}"
    if saved_by == "torch.pt":
        torch.save(layer.state_dict(), path)
    else:
        save_checkpoint(layer, path)
    if saved_by.startswith("convert"):
        path = tmp_path / "y.pt"
        assert convert(tmp_path / "x.safetensors", path).verdicts[0].same_bits
        with pytest.raises(CheckpointError, match=f"its zoneout of {share:g} have no place in a file of mxnet"):
            convert(path, tmp_path / "z.params")
        with pytest.raises(CheckpointError, match="a frozen layer has no zoneout"):
            convert(path, tmp_path / "z.safetensors", weights="int8")
    x = torch.randn(5, 2, 3)
    assert torch.equal(load_checkpoint(path).gru().eval()(x)[0], layer(x)[0])


# -- Keras ------------------------------------------------------------------------------------------------------


def whole_model(path: Path, groups: list[str], layers: list[dict[str, object]]) -> Path:
    """An HDF5 file of a whole model, as Keras writes it."""
    h5py = pytest.importorskip("h5py")
    shapes = {"kernel": (4, 12), "recurrent_kernel": (4, 12), "bias": (2, 12)}
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "3.15.1"
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": layers}})
        for group in groups:
            for name, shape in shapes.items():
                file[f"model_weights/{group}/{name}"] = np.ones(shape, np.float32)
    return path


def test_a_layer_may_be_called_like_a_cell(tmp_path: Path) -> None:
    layers: list[dict[str, object]] = [
        {"module": "keras.layers", "class_name": "GRU", "config": {"name": name, "activation": activation}}
        for name, activation in (("gru_cell", "relu"), ("other", "tanh"))
    ]
    groups = ["gru_cell/gru_cell/gru_cell", "other/other/gru_cell"]
    checkpoint = load_checkpoint(whole_model(tmp_path / "m.h5", groups, layers))
    told = {gru.path: gru.activation for gru in checkpoint.gru_layers}
    assert told == {f"model_weights/{group}": name for group, name in zip(groups, ("relu", "tanh"), strict=True)}


def test_the_loop_around_stacked_cells_may_read_backwards(tmp_path: Path) -> None:
    cell = {"module": "keras.layers", "class_name": "GRUCell", "config": {"name": "inner", "activation": "relu"}}
    cells = {"module": "keras.layers", "class_name": "StackedRNNCells", "config": {"cells": [cell]}}
    loop = {"name": "rnn", "go_backwards": True, "cell": cells}
    layers: list[dict[str, object]] = [{"module": "keras.layers", "class_name": "RNN", "config": loop}]
    (found,) = load_checkpoint(whole_model(tmp_path / "m.h5", ["rnn/model/rnn/inner"], layers)).gru_layers
    assert found.activation == "relu"
    assert found.reverse


def test_the_names_of_activations_are_those_of_the_formula() -> None:
    assert tuple(ACTIVATIONS) == content.ACTIVATIONS
    assert set(ACTIVATIONS) == set(equations._ACTIVATIONS)


@pytest.mark.parametrize("ending", ["pt", "npz", "safetensors"])
@pytest.mark.parametrize("key", ["activation", "gate_activation"])
def test_an_activation_of_a_later_version_is_refused_by_every_command(key: str, ending: str, tmp_path: Path) -> None:
    path = marked(tmp_path / "m.safetensors", {key: "mish"})
    with pytest.raises(CheckpointError, match=f"'{key}': 'mish', which is not known"):
        convert(path, tmp_path / f"o.{ending}")
    with pytest.raises(CheckpointError, match="mish"):
        load_checkpoint(path).gru()
