"""GRUs are read back from models: our own exports bit for bit, ONNX's own test cases with the outputs that ONNX expects."""

import importlib
import warnings

import numpy as np
import onnx
import pytest
import torch
from helpers import mostly_slow
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case import node as cases

import anygru
import anygru.onnx
from anygru.checkpoints import load_checkpoint


def model_of(nodes, initializers, outputs=("y", "y_h"), inputs=("x",)):
    """A model with x as its only input."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (*inputs, *outputs)]
    stored = [numpy_helper.from_array(value, name) for name, value in initializers.items()]
    graph = helper.make_graph(nodes, "g", values[: len(inputs)], values[len(inputs) :], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def save(model, path):
    onnx.save(model, path)
    return path


def weights(hidden=4, features=3, directions=1, biases=True, seed=0):
    draw = np.random.default_rng(seed).standard_normal
    shapes = {
        "W": (directions, 3 * hidden, features),
        "R": (directions, 3 * hidden, hidden),
        "B": (directions, 6 * hidden),
    }
    return {name: draw(shape).astype(np.float32) for name, shape in shapes.items() if biases or name != "B"}


def node(hidden=4, **attributes):
    return helper.make_node("GRU", ["x", "W", "R", "B"], ["y", "y_h"], name="g", hidden_size=hidden, **attributes)


@pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")
@pytest.mark.parametrize(
    "layer",
    mostly_slow(
        [
            anygru.GRU(3, 4, 3, bidirectional=True),
            anygru.GRU(3, 4, 2, reset="before", bias=False),
            anygru.GRU(3, 4, activation="relu", gate_activation="hardsigmoid"),
        ]
    ),
    ids=["after", "before", "activations"],
)
@pytest.mark.compiles
def test_an_exported_layer_comes_back_bit_for_bit(layer, tmp_path):
    anygru.onnx.export(layer.eval(), (torch.randn(5, 2, 3),), tmp_path / "model.onnx")
    (found,) = anygru.onnx.load(tmp_path / "model.onnx").values()
    assert (found.num_layers, found.bidirectional, found.formula) == (
        layer.num_layers,
        layer.bidirectional,
        layer.formula,
    )
    for one, other in zip(found.flat_weights, layer.flat_weights, strict=False):
        assert torch.equal(one, other)
    input = torch.randn(7, 3, 3)
    assert torch.equal(found(input)[0], layer(input)[0])


# Importing the file makes its cases, and draws their weights; collecting all of ONNX's would import hundreds.
np.random.seed(0)
importlib.import_module("onnx.backend.test.case.node.gru")
CASES = {case.name: case for case in cases._NodeTestCases if case.name.startswith("test_gru_")}


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_stack_of_torchs_older_exporter_is_one_layer(bidirectional, with_state, tmp_path):
    theirs = torch.nn.GRU(3, 4, num_layers=3, bidirectional=bidirectional).eval()
    x, h_0 = torch.randn(5, 2, 3), torch.randn(6 if bidirectional else 3, 2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, of an exporter that it has deprecated
        torch.onnx.export(theirs, (x, h_0) if with_state else (x,), tmp_path / "old.onnx", dynamo=False)
    (layer,) = anygru.onnx.load(tmp_path / "old.onnx").values()
    assert (layer.num_layers, layer.bidirectional) == (3, bidirectional)
    for found, expected in zip(layer(x, h_0), theirs(x, h_0), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_onnxs_own_cases(name, tmp_path):
    """Their weights are inputs of the graph; here they are stored, with the values of the case."""
    model = onnx.ModelProto.FromString(CASES[name].model.SerializeToString())
    (inputs, outputs), *_ = CASES[name].data_sets
    given = dict(zip([value.name for value in model.graph.input], inputs, strict=True))
    for key in set(given) - {"X", "sequence_lens", "initial_h"}:
        model.graph.initializer.append(numpy_helper.from_array(given[key], key))
    (layer,) = anygru.onnx.load(save(model, tmp_path / "case.onnx")).values()
    lengths = given.get("sequence_lens")
    output, h_n = layer(torch.from_numpy(given["X"]), lengths=None if lengths is None else torch.from_numpy(lengths))
    expected = dict(zip([value.name for value in model.graph.output], outputs, strict=True))
    state = h_n.detach().numpy()
    if "Y_h" in expected:
        wanted = expected["Y_h"].swapaxes(0, 1) if layer.batch_first else expected["Y_h"]
        np.testing.assert_allclose(state, wanted, atol=1e-6)
    if "Y" in expected:
        wanted = expected["Y"] if layer.batch_first else expected["Y"].swapaxes(1, 2)
        wanted = wanted.reshape(output.shape)
        np.testing.assert_allclose(output.detach().numpy(), wanted, atol=1e-6)


def test_there_are_cases():
    assert {"test_gru_defaults", "test_gru_with_initial_bias", "test_gru_seq_length", "test_gru_batchwise"} <= set(
        CASES
    )


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("reset", [0, 1])
def test_directions_and_formulas_equal_onnx_runtime(direction, reset, tmp_path):
    import onnxruntime

    stored = weights(directions=2 if direction == "bidirectional" else 1)
    model = model_of([node(direction=direction, linear_before_reset=reset)], stored)
    path = save(model, tmp_path / "m.onnx")
    input = np.random.default_rng(1).standard_normal((6, 2, 3)).astype(np.float32)
    y, y_h = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": input})
    output, h_n = anygru.onnx.load(path, "g")(torch.from_numpy(input))
    np.testing.assert_allclose(output.detach().numpy(), y.transpose(0, 2, 1, 3).reshape(output.shape), atol=1e-5)
    np.testing.assert_allclose(h_n.detach().numpy(), y_h, atol=1e-5)


def test_weights_that_an_exporter_rearranged_or_quantised(tmp_path):
    stored = weights(biases=False)
    stored["R_half"] = stored["R"][:, :6]
    stored["R_rest"] = stored.pop("R")[:, 6:]
    scale = np.float32(0.01)
    quantised = np.round(stored.pop("W")[0] / scale).clip(-127, 127).astype(np.int8)
    stored |= {"W_q": quantised, "scale": np.array(scale), "axis": np.array([0])}
    nodes = [
        helper.make_node("DequantizeLinear", ["W_q", "scale"], ["W_flat"]),
        helper.make_node("Unsqueeze", ["W_flat", "axis"], ["W"]),
        helper.make_node("Concat", ["R_half", "R_rest"], ["R"], axis=1),
        helper.make_node("GRU", ["x", "W", "R"], ["y", "y_h"], name="g", hidden_size=4),
    ]
    layer = anygru.onnx.load(save(model_of(nodes, stored), tmp_path / "m.onnx"), "g")
    assert not layer.bias
    np.testing.assert_array_equal(layer.weight_ih_l0.detach().numpy()[4:8], quantised[:4] * scale)


def test_external_data_in_the_folder_is_read(tmp_path):
    model = model_of([node()], weights())
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    layer = anygru.onnx.load(tmp_path / "m.onnx", "g")
    np.testing.assert_array_equal(layer.weight_hh_l0.detach().numpy()[4:8], weights()["R"][0, :4])


def hostile(change):
    model = model_of([node()], weights())
    change(model, model.graph.initializer[0], model.graph.node[0])
    return model


def outside(model, tensor, _):
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")


HOSTILE = {
    "clip": (
        lambda m, t, n: n.attribute.append(helper.make_attribute("clip", 3.0)),
        "node 'g': clip=3.0 is not supported",
    ),
    "activation": (
        lambda m, t, n: n.attribute.append(helper.make_attribute("activations", ["Sigmoid", "LeakyRelu"])),
        r"the activation LeakyRelu with alpha, beta = \[0.01, None\] is not supported",
    ),
    "shape": (
        lambda m, t, n: t.dims.__setitem__(0, 7),
        r"W: the shape times the size of float32 is \d+ bytes, got 144",
    ),
    "huge": (
        lambda m, t, n: t.dims.__setitem__(0, 1 << 60),
        r"W: the shape times the size of float32 is \d+ bytes, got 144",
    ),
    "negative": (lambda m, t, n: t.dims.__setitem__(0, -1), "impossible axis"),
    "dtype": (lambda m, t, n: setattr(t, "data_type", 77), "unknown dtype 77"),
    "hidden size": (lambda m, t, n: setattr(n.attribute[0], "i", 5), r"W must be floats of shape \(1, 15, 3\)"),
    "no weights": (lambda m, t, n: n.input.__setitem__(1, "x"), "'x' is not a stored value"),
    "few inputs": (lambda m, t, n: n.input.__delitem__(slice(1, 4)), "a GRU has the inputs X, W and R at least"),
    "outside": (outside, "external data '../secret' is not in the model's folder"),
}


@pytest.mark.parametrize(("change", "words"), HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_read_is_named(change, words, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(144))
    (tmp_path / "inner").mkdir()
    path = save(hostile(change), tmp_path / "inner" / "m.onnx")
    with pytest.raises(anygru.CheckpointError, match=words) as caught:
        anygru.onnx.load(path)
    assert "m.onnx" in str(caught.value)


@pytest.mark.parametrize("inner", [b"\x0a\x00", b"\x2a\x00"], ids=["nodes", "initializers"])
def test_a_million_empty_messages_are_refused_before_they_take_memory(inner, tmp_path):
    """Parsed, these 2 MB would take 340 MB."""
    body = inner * 1_000_000
    path = tmp_path / "m.onnx"
    path.write_bytes(
        b"\x08\x09\x3a" + bytes([len(body) & 127 | 128, len(body) >> 7 & 127 | 128, len(body) >> 14]) + body
    )
    with pytest.raises(anygru.CheckpointError, match=r"m.onnx: more than \d+ bytes of memory would be made"):
        load_checkpoint(path, "onnx")


def test_a_file_cut_anywhere_ends_in_our_error_or_a_model(tmp_path):
    data = model_of([node()], weights()).SerializeToString()
    path = tmp_path / "m.onnx"
    for length in range(0, len(data), 37):
        path.write_bytes(data[:length])
        try:
            load_checkpoint(path, "onnx")
        except anygru.CheckpointError:
            continue


def test_flipped_bytes_end_in_our_error_or_a_model(tmp_path):
    data = model_of([node()], weights()).SerializeToString()
    draw, path = np.random.default_rng(0), tmp_path / "m.onnx"
    for _ in range(300):
        changed = bytearray(data)
        for place in draw.integers(0, len(data), 3):
            changed[place] = draw.integers(256)
        path.write_bytes(changed)
        try:
            anygru.onnx.load(path)
        except anygru.CheckpointError:
            continue


def test_a_name_that_is_not_there(tmp_path):
    path = save(model_of([node()], weights()), tmp_path / "m.onnx")
    with pytest.raises(anygru.CheckpointError, match="no GRU node is called 'h'; the file has: 'g'"):
        anygru.onnx.load(path, "h")


def test_it_is_a_checkpoint_format(tmp_path, capsys):
    from anygru.cli import main

    path = save(model_of([node()], weights()), tmp_path / "m.onnx")
    assert main(["inspect", str(path)]) == 0
    assert "g" in capsys.readouterr().out
    assert main(["convert", str(path), str(tmp_path / "m.safetensors")]) == 0
    found, expected = load_checkpoint(tmp_path / "m.safetensors").gru("g"), anygru.onnx.load(path, "g")
    assert found.reset == expected.reset == "before"
    assert torch.equal(found.weight_hh_l0, expected.weight_hh_l0)
    assert main(["convert", str(tmp_path / "m.safetensors"), str(tmp_path / "n.onnx")]) != 0
    assert "anygru.onnx.export" in capsys.readouterr().err
