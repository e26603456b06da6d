"""GRUs inside If, Loop and local functions, and weights that a model computes: the layers give what ONNX Runtime gives."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import anygru
import anygru.onnx

ort = pytest.importorskip("onnxruntime")

OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
DRAW = np.random.default_rng(0).standard_normal


def draw(*shape):
    return DRAW(shape).astype(np.float32)


def stored(**arrays):
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def value(name, shape=None, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def gru(name, x="x", w="W", r="R", y="y"):
    return helper.make_node("GRU", [x, w, r], [y], name=name, hidden_size=4, linear_before_reset=1)


def branch(name, **weights):
    """A graph for If that reads the input of the graph around it."""
    node = gru(name, w=f"W{name}", y=f"y{name}")
    return helper.make_graph([node], name, [], [value(f"y{name}")], stored(**weights))


def in_if():
    one, other = branch("one", Wone=draw(1, 12, 3)), branch("other", Wother=draw(1, 12, 3))
    node = helper.make_node("If", ["c"], ["y"], then_branch=one, else_branch=other)
    return [node], stored(c=True, R=draw(1, 12, 4)), []


def in_loop():
    """A body that runs once, and computes its weights from values outside."""
    halved = helper.make_node("Mul", ["W", "half"], ["w"])
    body = helper.make_graph(
        [halved, gru("one", w="w", y="steps"), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [value("number", [], TensorProto.INT64), value("go", [], TensorProto.BOOL)],
        [value("on", [], TensorProto.BOOL), value("steps")],
    )
    node = helper.make_node("Loop", ["times", "c"], ["many"], body=body)
    first = helper.make_node("Squeeze", ["many", "axes"], ["y"])
    kept = stored(times=1, c=True, axes=[0], half=np.float32(0.5), W=draw(1, 12, 3), R=draw(1, 12, 4))
    return [node, first], kept, []


def in_a_function():
    """A local function that gets its weights from the call."""
    inner = helper.make_function(
        "mine", "Encoder", ["x", "w", "r"], ["y"], [gru("one", w="w", r="r")], [helper.make_opsetid("", 18)]
    )
    node = helper.make_node("Encoder", ["x", "W", "R"], ["y"], domain="mine")
    return [node], stored(W=draw(1, 12, 3), R=draw(1, 12, 4)), [inner]


def computed():
    """float16 weights that are cast, scaled by column, shifted, and taken out of a table."""
    nodes = [
        helper.make_node("Cast", ["half"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["wide", "scale"], ["scaled"]),
        helper.make_node("Div", ["scaled", "two"], ["divided"]),
        helper.make_node("Add", ["divided", "shift"], ["shifted"]),
        helper.make_node("Sub", ["shifted", "two"], ["W"]),
        helper.make_node("Gather", ["table", "place"], ["R"], axis=1),
        gru("one"),
    ]
    kept = stored(half=draw(1, 12, 3).astype(np.float16), scale=draw(3), two=np.float32(2), shift=draw(12, 1))
    return nodes, kept + stored(table=draw(1, 20, 4), place=np.arange(12) - 3), []


def model_of(nodes, initializers, functions):
    graph = helper.make_graph(nodes, "g", [value("x", [5, 2, 3])], [value("y")], initializers)
    return helper.make_model(graph, opset_imports=OPSETS, functions=functions, ir_version=9)


@pytest.mark.parametrize("made", [in_if, in_loop, in_a_function, computed])
def test_a_layer_gives_the_numbers_of_onnx_runtime(made, tmp_path):
    onnx.save(model_of(*made()), tmp_path / "m.onnx")
    found = anygru.onnx.load(tmp_path / "m.onnx")
    assert set(found) == ({"one", "other"} if made is in_if else {"one"})
    x = draw(5, 2, 3)
    (expected,) = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x})
    with torch.no_grad():
        np.testing.assert_allclose(found["one"](torch.from_numpy(x))[0], expected[:, 0], rtol=0, atol=1e-6)


def test_each_call_of_a_function_is_a_layer_with_its_own_weights(tmp_path):
    _, kept, functions = in_a_function()
    calls = [helper.make_node("Encoder", ["x", w, "R"], [y], domain="mine") for w, y in (("W", "y"), ("V", "z"))]
    other = draw(1, 12, 3)
    onnx.save(model_of(calls, kept + stored(V=other), functions), tmp_path / "m.onnx")
    first, second = anygru.onnx.load(tmp_path / "m.onnx").values()
    assert not torch.equal(first.weight_ih_l0, second.weight_ih_l0)
    update, reset, candidate = np.split(other[0], 3)  # ONNX's order
    np.testing.assert_array_equal(second.weight_ih_l0.detach(), np.concatenate([reset, update, candidate]))


def calling_itself():
    call = helper.make_node("Encoder", ["x", "w", "r"], ["y"], domain="mine")
    nodes, kept, _ = in_a_function()
    return nodes, kept, [helper.make_function("mine", "Encoder", ["x", "w", "r"], ["y"], [call], OPSETS)]


def spread():
    """Two small arrays whose product takes 400 GB."""
    kept = stored(a=np.ones((1, 320_000, 1), "f4"), b=np.ones((1, 1, 320_000), "f4"), R=draw(1, 12, 4))
    return [helper.make_node("Mul", ["a", "b"], ["W"]), gru("one")], kept, []


def bits_of_bfloat16():
    half = helper.make_tensor("half", TensorProto.BFLOAT16, [1, 12, 3], draw(36))
    return (
        [helper.make_node("Cast", ["half"], ["W"], to=TensorProto.FLOAT), gru("one")],
        [half, *stored(R=draw(1, 12, 4))],
        [],
    )


def from_outside():
    """A function whose weight is the input of the model."""
    nodes, kept, functions = in_a_function()
    nodes[0].input[1] = "x"
    return nodes, kept, functions


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (calling_itself, "nested more than 16 deep"),
        (spread, "bytes of memory would be made"),
        (bits_of_bfloat16, "bfloat16 and uint16 are not computed"),
        (from_outside, "'x' is not a stored value"),
    ],
)
def test_what_cannot_be_computed_is_named(made, words, tmp_path):
    (tmp_path / "m.onnx").write_bytes(model_of(*made()).SerializeToString())
    with pytest.raises(anygru.CheckpointError, match=words):
        anygru.onnx.load(tmp_path / "m.onnx")
