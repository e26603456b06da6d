"""A state_dict of torch as JSON: nested lists of numbers by name, as GuitarML's trainer and RTNeural's `torch_helpers` have it.

GuitarML's files are {"model_data": {...}, "state_dict": {"rec.weight_ih_l0": ..., "lin.weight": ...}}: a recurrent layer
`rec`, a linear layer `lin`, and `skip`, the number of inputs that are added to the output
(https://github.com/GuitarML/Automated-GuitarAmpModelling, CoreAudioML's networks.py). `torch_helpers.h` of RTNeural reads the
state_dict alone.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import CheckpointError
from .. import stack
from ..reading.budget import Budget
from ..reading.content import Content, Progress, flatten
from ..reading.json_tensors import array_of, check_dtypes, float_problem, read_object, stored_floats, write_object
from ..reading.source import shown
from ..stored import StoredTensor
from .torch import LAYOUT

__all__ = ["LAYOUT", "problem", "read", "recognise", "write"]

NESTED = False
SUFFIXES = (".torch.json",)


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is a JSON object; `NAMES` has RTNeural's format before this."""
    return head.lstrip(b" \t\r\n")[:1] == b"{"


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a state_dict, and GuitarML's description of the model.

    Raises:
        CheckpointError: the file is no such JSON.
    """
    where = os.fspath(path)
    found = read_object(path, budget)
    metadata: dict[str, str] = {}
    if isinstance(found.get("layers"), list):
        raise CheckpointError(
            f"{where}: it has layers, as RTNeural's files: name the format rtneural (format=..., --from)"
        )
    if isinstance(found.get("state_dict"), dict):
        metadata[stack.KEY] = stack.as_text(_model(found), where)
        budget.take(len(metadata[stack.KEY]))
        found = found["state_dict"]
    places = {name: f"{where}: {name!r:.60}" for name in found}
    whole = {name: _integer(value, places[name]) for name, value in found.items() if type(value) is int}
    arrays = {name: array_of(found[name], place, budget) for name, place in places.items() if name not in whole}
    tensors = {**stored_floats(arrays, budget), **whole}
    return Content({name: tensors[name] for name in found}, metadata=metadata)


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write a state_dict; with the names of GuitarML's model in GuitarML's form."""
    where = os.fspath(path)
    tensors: dict[str, StoredTensor] = flatten(content.tree, where)
    check_dtypes([tensor for tensor in tensors.values() if tensor.dtype != "int64"], where)
    entries: dict[str, Any] = dict(tensors)
    if _is_guitarml(tensors):
        model = stack.model_of(content.metadata, where) or {}
        entries = {**_others(model), "model_data": _model_data(tensors, model, where), "state_dict": entries}
    write_object(path, entries, progress)


def problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written, or None."""
    if isinstance(leaf, StoredTensor) and leaf.dtype == "int64" and not leaf.shape:
        return None
    return float_problem(leaf)


def keeps_layers(content: Content) -> bool:
    """Whether the order of the layers is in the file that `write` makes of this content."""
    return _is_guitarml(content.tree)


def _integer(value: int, place: str) -> StoredTensor:
    """A count, as batch normalization has it."""
    if not -(1 << 63) <= value < 1 << 63:
        raise CheckpointError(f"{place}: {shown(value)} is beyond 64 bits")
    return StoredTensor.of(np.array(value, np.int64))


_LAYER = re.compile(r"rec\.weight_hh_l(\d{1,3})\Z")
_NAME = re.compile(r"rec\.(?:weight|bias)_[ih]h_l\d{1,3}\Z|lin\.(?:weight|bias)\Z")


def _model(file: Mapping[str, Any]) -> dict[str, Any]:
    """GuitarML's model in the form of `stack`, with whatever the file holds beside the tensors."""
    data = file["model_data"] if isinstance(file.get("model_data"), dict) else {}
    count = sum(_LAYER.match(name[:40]) is not None for name in file["state_dict"])
    kind = str(data.get("unit_type", "GRU")).lower()
    layers = [{"type": kind, "name": "rec", "activation": "", "weights": 3} for _ in range(count)]
    layers.append({"type": "dense", "name": "lin", "activation": "", "weights": 2})
    others = {key: value for key, value in file.items() if key not in ("state_dict", "model_data")}
    skip = {"in_skip": data["skip"]} if data.get("skip") else {}
    return {**others, "layers": layers, **skip, "model_data": data}


def _is_guitarml(tensors: Mapping[str, Any]) -> bool:
    matrices = (tensors.get(name) for name in ("rec.weight_ih_l0", "rec.weight_hh_l0", "lin.weight"))
    has_shapes = all(isinstance(each, StoredTensor) and len(each.shape) == 2 for each in matrices)
    return has_shapes and all(_NAME.match(name[:40]) for name in tensors)


def _others(model: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in model.items() if key not in ("layers", "in_skip", "in_shape", "model_data")}


def _model_data(tensors: Mapping[str, StoredTensor], model: Mapping[str, Any], where: str) -> dict[str, Any]:
    """GuitarML's options of the model, by the shapes of its tensors."""
    if any(layer["activation"] and layer["type"] != "gru" for layer in model.get("layers", ())):
        raise CheckpointError(f"{where}: GuitarML's model has no activations: {stack.describe(model)}")
    if model.get("in_gain") or model.get("out_gain"):
        raise CheckpointError(f"{where}: GuitarML's model has no gains: {stack.describe(model)}")
    rows, hidden = tensors["rec.weight_hh_l0"].shape
    return {
        **model.get("model_data", {}),
        "model": "SimpleRNN",
        "input_size": tensors["rec.weight_ih_l0"].shape[1],
        "skip": int(model.get("in_skip", 0)),
        "output_size": tensors["lin.weight"].shape[0],
        "unit_type": {3: "GRU", 4: "LSTM"}.get(rows // max(1, hidden), "RNN"),
        "num_layers": sum(_LAYER.match(name[:40]) is not None for name in tensors),
        "hidden_size": hidden,
        "bias_fl": "rec.bias_hh_l0" in tensors,
    }
