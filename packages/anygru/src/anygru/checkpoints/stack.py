"""The layers of a model that computes one after another, in the metadata of a file: their order, activations and skip.

RTNeural's and GuitarML's files hold a whole model. Their readers write what is not a tensor under `KEY` of the metadata, in
RTNeural's own form without the numbers, and safetensors files keep it.
"""

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ..errors import CheckpointError
from .reading.budget import Budget
from .reading.json_text import parse_json

KEY = "anygru.layers"
"""The key of the metadata."""
ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU", "sigmoid": "Sigmoid", "elu": "ELU", "softmax": "Softmax"}
"""RTNeural's activations, with the names of torch's modules."""
DENSE = ("dense", "time-distributed-dense")
"""The types of RTNeural's linear layers."""


def as_text(model: Mapping[str, Any], where: str) -> str:
    """Give the text for the metadata.

    Raises:
        CheckpointError: a number is not finite, or the values are nested too deeply.
    """
    try:
        return json.dumps(model, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: beside the layers: {error}") from error


def model_of(metadata: Mapping[str, str], where: str) -> dict[str, Any] | None:
    """Parse a file's metadata: {"layers": [{"type", "name", "activation", "weights", ...}], "in_skip": ..., ...}.

    Here `weights` is the number of a layer's arrays.

    Returns:
        The model; None if the metadata has none.

    Raises:
        CheckpointError: it has another form.
    """
    if KEY not in metadata:
        return None
    text, budget = metadata[KEY].encode(errors="replace"), Budget(where)
    budget.add_file(len(text))
    try:
        model = parse_json(text, budget)
        layers = model["layers"]
        known = all(isinstance(layer[key], str) for layer in layers for key in ("type", "name", "activation"))
        if not known or not all(type(layer["weights"]) is int for layer in layers):
            raise ValueError("a layer without type, name, activation or a number of weights")
    except CheckpointError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{where}: metadata {KEY}: it does not describe layers: {error}") from error
    found: dict[str, Any] = model
    return found


def describe(model: Mapping[str, Any]) -> str:
    """Describe a model in one line: "gru rec, dense lin, tanh, input added"."""
    words = []
    for (kind, name, activation), same in groupby(
        model["layers"], lambda layer: (layer["type"], layer["name"], layer["activation"])
    ):
        shown = f"{kind} {name!r:.60}" if kind != "activation" else ""
        count = len(list(same))
        words.append(f"{shown} x {count}" if count > 1 and shown else shown)
        words.append(activation if kind in (*DENSE, "activation", "conv1d", "conv2d") else "")
    words += [f"{key} {model[key]}" for key in ("in_skip", "in_gain", "out_gain") if model.get(key)]
    return ", ".join(filter(None, words))


def renamed(metadata: Mapping[str, str], rename: Any, where: str) -> dict[str, str]:
    """The metadata with the layers' names after a mapping of tensors' names."""
    model = model_of(metadata, where)
    if model is None:
        return dict(metadata)
    for layer in model["layers"]:
        layer["name"] = rename(layer["name"] + ".").rstrip(".")
    return {**metadata, KEY: as_text(model, where)}
