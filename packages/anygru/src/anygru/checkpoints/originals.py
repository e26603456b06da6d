"""Running a GRU of a file in the framework that defines it, where that is installed: torch, Keras, ONNX Runtime.

Only the layer is made, of sizes and tensors that were read here; no file goes to a framework. Each answers in float64.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from .finding import FoundGRU
from .stored import StoredTensor

Results = tuple[np.ndarray, ...]


def run_original(
    gru: FoundGRU, tensors: Mapping[str, StoredTensor], x: np.ndarray, h: np.ndarray
) -> tuple[str, Results] | None:
    """Give the framework's name with outputs and last states (of a cell, the last state); None where it is not there."""
    own = {name[len(gru.path) + 1 if gru.path else 0 :]: tensors[name] for name in gru.names}
    if gru.frozen or gru.batch_first or gru.zoneout or gru.origins:
        return None
    if gru.layout.name == "torch.nn.GRU":  # any format can hold tensors under torch's names, also ONNX
        return _torch(gru, own, x, h)
    if gru.layout.name == "ONNX GRU":
        return _onnxruntime(gru, own, x, h)
    stacked = "{layer}" in gru.layout.anchor  # RTNeural's layers: a layer of Keras is one
    if (
        gru.layout.columns and not stacked and "keras" in sys.modules
    ):  # its import takes seconds and settles its backend
        return _keras(gru, own, x, h)
    return None


def _torch(gru: FoundGRU, own: Mapping[str, StoredTensor], x: np.ndarray, h: np.ndarray) -> tuple[str, Results] | None:
    import torch

    if (gru.reset, gru.gate_activation, gru.activation, gru.reverse) != ("after", "sigmoid", "tanh", False):
        return None
    sizes = (gru.input_size, gru.hidden_size, gru.num_layers)
    layer = torch.nn.GRU(*sizes, bias=gru.bias, bidirectional=gru.bidirectional, dtype=torch.float64)
    if set(own) != set(layer.state_dict()):  # a bias that is missing while the other one exists
        return None
    layer.load_state_dict({name: stored.tensor().double() for name, stored in own.items()})
    with torch.no_grad():
        results = layer(torch.from_numpy(x), torch.from_numpy(h))
    return "torch.nn.GRU", tuple(result.numpy() for result in results)


def _onnxruntime(
    gru: FoundGRU, own: Mapping[str, StoredTensor], x: np.ndarray, h: np.ndarray
) -> tuple[str, Results] | None:
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return None
    if (gru.gate_activation, gru.activation) != ("sigmoid", "tanh"):
        return None
    sides, last = ("", "_reverse")[: gru.directions], []
    direction = "bidirectional" if gru.bidirectional else "reverse" if gru.reverse else "forward"
    for layer in range(gru.num_layers):
        arrays = {part: np.stack([own[f"{part}_l{layer}{side}"].widened() for side in sides]) for part in "WR"}
        if gru.bias:
            both = [[own[f"{part}_l{layer}{side}"].widened() for part in ("Wb", "Rb")] for side in sides]
            arrays["B"] = np.stack([np.concatenate(pair) for pair in both])
        states = slice(layer * gru.directions, (layer + 1) * gru.directions)
        given = {"X": x, "H": h[states], **arrays}
        inputs = ["X", "W", "R", "B" if gru.bias else "", "", "H"]
        options: dict[str, Any] = {"hidden_size": gru.hidden_size, "direction": direction}
        node = onnx.helper.make_node(
            "GRU", inputs, ["Y", "L"], linear_before_reset=int(gru.reset == "after"), **options
        )
        floats = onnx.TensorProto.FLOAT
        declared = [onnx.helper.make_tensor_value_info(name, floats, None) for name in given]
        made = [onnx.helper.make_tensor_value_info(name, floats, None) for name in "YL"]
        graph = onnx.helper.make_graph([node], "gru", declared, made)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=9)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        y, state = session.run(None, {name: value.astype(np.float32) for name, value in given.items()})
        x = np.concatenate([y[:, side] for side in range(gru.directions)], -1)
        last.append(state)
    return "ONNX Runtime", (x.astype(np.float64), np.concatenate(last).astype(np.float64))


_KERAS_NAMES = {"identity": "linear", "hardsigmoid": "hard_sigmoid", "hardtanh": "hard_tanh"}


def _keras(gru: FoundGRU, own: Mapping[str, StoredTensor], x: np.ndarray, h: np.ndarray) -> tuple[str, Results] | None:
    import keras

    options: dict[str, Any] = {"use_bias": gru.bias, "reset_after": gru.reset == "after", "dtype": "float64"}
    options["activation"] = _KERAS_NAMES.get(gru.activation, gru.activation)
    options["recurrent_activation"] = _KERAS_NAMES.get(gru.gate_activation, gru.gate_activation)

    def weights(source: Mapping[str, tuple[str, ...]]) -> list[np.ndarray]:
        parts = [source[part][0] for part in ("weight_ih", "weight_hh", "bias_ih") if part in source]
        return [own[name[len(gru.path) + 1 if gru.path else 0 :]].widened().astype(np.float64) for name in parts]

    def plain(tensor: Any) -> np.ndarray:
        return np.asarray(keras.ops.convert_to_numpy(tensor), np.float64)

    if gru.cell:
        cell = keras.layers.GRUCell(gru.hidden_size, **options)
        cell.build((None, gru.input_size))
        cell.set_weights(weights(gru.sources[0]))
        state: Any = h
        for one in x:
            state = cell(keras.ops.convert_to_tensor(one), [keras.ops.convert_to_tensor(state)])[0]
        return "Keras", (plain(state),)
    outputs, last = [], []
    for direction, source in enumerate(gru.sources):
        backwards = direction == 1 or gru.reverse
        layer = keras.layers.GRU(
            gru.hidden_size, return_sequences=True, return_state=True, go_backwards=backwards, **options
        )
        layer.build((None, None, gru.input_size))
        layer.set_weights(weights(source))
        start = keras.ops.convert_to_tensor(h[direction])
        y, state = layer(keras.ops.convert_to_tensor(x.transpose(1, 0, 2).copy()), initial_state=start)
        y = plain(y).transpose(1, 0, 2)
        outputs.append(y[::-1] if backwards else y)
        last.append(plain(state))
    return "Keras", (np.concatenate(outputs, -1), np.stack(last))
