"""An option that a file gives a GRU is computed, or refused by its name; never taken for another."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.checkpoints.writing.convert import convert
from anygru.errors import CheckpointError
from anygru.facts.formula import ACTIVATIONS

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
    """A GRU whose metadata tells such a formula."""
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
    x, y, h = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "xyh")
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = onnx.helper.make_graph([made], "g", [x], [y, h], stored)
    opset = onnx.helper.make_opsetid("", 14)
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString())
    return path


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
