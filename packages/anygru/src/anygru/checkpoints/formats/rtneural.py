"""RTNeural's JSON, which AIDA-X reads as well: the layers of a model in their order, with weights in the layout of Keras.

{"in_shape": [null, null, 1], "layers": [{"type": "gru", "activation": "tanh", "shape": [null, null, 8], "weights": [kernel
[I, 3H], recurrent kernel [H, 3H], bias [2, 3H]]}, ...]}; rows of z, r, candidate, reset after the product. Read in
`RTNeural/model_loader.h` and model_utils.py of https://github.com/jatinchowdhury18/RTNeural, and in
aidadsp-plugin.cpp of https://github.com/AidaDSP/AIDA-X, which adds `in_skip`, `in_gain` and `out_gain` (dB) and `metadata`.

A `name` of a layer, which RTNeural ignores, becomes the name of its tensors; other layers get their numbers. GRUs in a row
that share a name are the layers of one. A dense layer has torch's tensors here, [out, in]: numbers in JSON have no bytes that
a view could share.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import CheckpointError
from .. import stack
from ..layout import CheckpointLayout
from ..reading.budget import Budget
from ..reading.content import Content, EntryMark, Progress, flatten
from ..reading.json_tensors import array_of, check_dtypes, float_problem, read_object, stored_floats, write_object
from ..reading.source import shown
from ..stored import StoredTensor

NESTED = False
SUFFIXES = (".json", ".aidax")

_GRU = ("kernel", "recurrent_kernel", "bias")

LAYOUT = (
    CheckpointLayout(
        name="RTNeural's gru", cell=False, weight_ih=("kernel_l{layer}",), weight_hh=("recurrent_kernel_l{layer}",),
        bias_ih=("bias_l{layer}",), sides=(1,), separators=".", order="zrn", columns=True, always_biased=True,
    ),
)  # fmt: skip

problem = float_problem


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is a JSON object with layers or the shape of an input."""
    text = head.lstrip(b" \t\r\n")
    return text[:1] == b"{" and (b'"layers"' in text or b'"in_shape"' in text)


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read the layers; everything that is not a tensor goes to the metadata, see `stack`.

    Raises:
        CheckpointError: a layer lacks a part, or a shape does not fit.
    """
    where = os.fspath(path)
    found = read_object(path, budget)
    layers = found.get("layers")
    if not isinstance(layers, list) or not all(isinstance(layer, dict) for layer in layers):
        raise CheckpointError(f"{where}: layers must be a list of objects, got {shown(layers)}")
    features = _width(found.get("in_shape"), f"{where}: in_shape")
    arrays: dict[str, np.ndarray] = {}
    marks: dict[str, EntryMark] = {}
    described = []
    for number, (layer, name, depth) in enumerate(_named(layers, where)):
        place = f"{where}: layers[{number}]"
        kind, activation = (layer.get(key, "" if key == "activation" else None) for key in ("type", "activation"))
        if not isinstance(kind, str) or not isinstance(activation, str):
            raise CheckpointError(f"{place}: type and activation must be texts, got {shown(kind)}, {shown(activation)}")
        width, weights = _width(layer.get("shape"), f"{place}: shape"), layer.get("weights", [])
        if not isinstance(weights, list):
            raise CheckpointError(f"{place}: weights must be a list, got {shown(weights)}")
        budget.take((len(weights) + 2) * (len(name) + 100))
        parts = [array_of(each, f"{place}: weights[{index}]", budget) for index, each in enumerate(weights)]
        arrays |= _tensors(kind, name, depth, parts, features, width, place)
        if kind == "gru" and activation not in ("", "tanh"):
            marks[name] = EntryMark(
                notes=(f"its activation is {shown(activation)} in the file; RTNeural computes tanh",)
            )
        described.append({**layer, "name": name, "activation": activation, "weights": len(weights)})
        features = width
    metadata = {stack.KEY: stack.as_text({**found, "layers": described}, where)}
    budget.take(len(metadata[stack.KEY]))
    return Content(dict(stored_floats(arrays, budget)), marks=marks, metadata=metadata)


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write the layers in the order of the metadata.

    Raises:
        CheckpointError: the metadata has no order, a tensor belongs to no GRU and no linear layer, or two
            layers in a row do not fit.
    """
    where = os.fspath(path)
    tensors: dict[str, StoredTensor] = flatten(content.tree, where)
    check_dtypes(tensors.values(), where)
    units, model = _units(tensors, where), stack.model_of(content.metadata, where)
    if model is None:
        if len(units) > 1 or any(unit.kind == "other" for unit in units):
            raise CheckpointError(
                f"{where}: a checkpoint does not hold the order of its layers, nor activations between them: name them as they "
                f"compute (--layers {_listed(units)}), or write an nn.Sequential with save_checkpoint"
            )
        model = {"layers": [{**unit.entry(), "weights": len(unit.weights)} for unit in units]}
    units = _in_order(units, model, where)
    entries = _entries(units, model, where)
    for before, unit in zip(units, units[1:], strict=False):
        if "other" not in (before.kind, unit.kind) and before.outputs != unit.inputs:
            raise CheckpointError(
                f"{where}: {unit.name!r:.60} takes {unit.inputs} inputs, and {before.name!r:.60} before it gives "
                f"{before.outputs}: {stack.describe(model)}"
            )
    others = {key: value for key, value in model.items() if key != "model_data"}
    shape = others.get("in_shape") or [None, None, units[0].inputs if units else 1]
    write_object(path, {**others, "in_shape": shape, "layers": entries}, progress)


def keeps_layers(content: Content) -> bool:
    """Whether the order of the layers is in the file that `write` makes: always."""
    return True


def _listed(units: list["_Unit"]) -> str:
    names = ",".join(dict.fromkeys(unit.name for unit in units))
    return f"{names[:200]}{'...' if len(names) > 200 else ''}"


_NO_LAYER = "RTNeural's form is written from GRUs and linear layers alone"


def _width(shape: object, place: str) -> int:
    """The number of features of a shape, as RTNeural counts them: of four axes, the product of the last two."""
    axes = shape[-2:] if isinstance(shape, list) and len(shape) == 4 else shape[-1:] if isinstance(shape, list) else []
    if not axes or any(type(axis) is not int or not 0 < axis < 1 << 31 for axis in axes):
        raise CheckpointError(f"{place}: must be a list that ends in the number of features, got {shown(shape)}")
    product = 1
    for axis in axes:
        product *= axis
    return product


def _named(layers: list[dict[str, Any]], where: str) -> Iterator[tuple[dict[str, Any], str, int]]:
    """Each layer with its name, and its number among GRUs in a row that share it."""
    seen: set[str] = set()
    last, depth = None, 0
    for number, layer in enumerate(layers):
        given = layer.get("name")
        name = given if isinstance(given, str) else str(number)
        same = isinstance(given, str) and layer.get("type") == "gru" and last == ("gru", name)
        depth = depth + 1 if same else 0
        if name in seen and not same:
            raise CheckpointError(f"{where}: layers[{number}]: another layer has the name {shown(name)}")
        seen.add(name)
        last = (layer.get("type"), name)
        yield layer, name, depth


def _tensors(
    kind: str, name: str, depth: int, parts: list[np.ndarray], features: int, width: int, place: str
) -> dict[str, np.ndarray]:
    """The tensors of a layer by name."""
    before = f"{name}." if name else ""
    shapes: tuple[tuple[int, ...], ...]
    if kind == "gru":
        shapes = (features, 3 * width), (width, 3 * width), (2, 3 * width)
        names = [f"{before}{part}_l{depth}" for part in _GRU]
    elif kind in stack.DENSE:
        shapes = (features, width), (width,)
        names = [f"{before}weight", f"{before}bias"]
    else:
        return {f"{before}weights.{number}": part for number, part in enumerate(parts)}
    came = tuple(part.shape for part in parts)
    if not len(shapes) - 1 <= len(came) <= len(shapes) or came != shapes[: len(came)]:
        wanted = ", ".join(map(str, shapes))
        raise CheckpointError(f"{place}: weights of {kind} must have the shapes {wanted}; got {str(came)[:200]}")
    if kind in stack.DENSE:
        parts = [parts[0].T, *parts[1:]]
    return dict(zip(names, parts, strict=False))


@dataclass(frozen=True)
class _Unit:
    """A layer of RTNeural: its type ("gru", "dense", "other"), name, arrays, numbers of features, and place in a stacked GRU."""

    kind: str
    name: str
    weights: list[StoredTensor]
    inputs: int = 0
    outputs: int = 0
    depth: int = 0

    def entry(self) -> dict[str, Any]:
        """The layer in the file."""
        activation, shape = "tanh" if self.kind == "gru" else "", [None, None, self.outputs]
        return {"type": self.kind, "name": self.name, "activation": activation, "shape": shape, "weights": self.weights}


_PART = re.compile(r"(?:^|\.)(?:(recurrent_kernel|kernel|bias)_l(\d{1,3})|(weight|bias)|weights\.(\d{1,6}))\Z")


def _units(tensors: Mapping[str, StoredTensor], where: str) -> list[_Unit]:
    """The layers, in the order of their first tensors."""
    groups: dict[tuple[str, str, int], dict[str, StoredTensor]] = {}
    for name, tensor in tensors.items():
        match = _PART.search(name[-64:])
        if match is None:
            raise CheckpointError(f"{where}: {name!r:.80}: {_NO_LAYER}")
        home = name[: len(name) - len(match[0])]
        key = ("gru", int(match[2])) if match[1] else ("dense", 0) if match[3] else ("other", 0)
        groups.setdefault((home, *key), {})[match[1] or match[3] or match[4]] = tensor
    return [_unit(*key, parts, where) for key, parts in groups.items()]


def _unit(name: str, kind: str, depth: int, parts: dict[str, StoredTensor], where: str) -> _Unit:
    if kind == "gru" and set(parts) == set(_GRU):
        kernel, recurrent = parts["kernel"].shape, parts["recurrent_kernel"].shape
        if len(kernel) == len(recurrent) == 2:
            return _Unit(kind, name, [parts[part] for part in _GRU], kernel[0], recurrent[0], depth)
    if kind == "dense" and "weight" in parts and len(parts["weight"].shape) == 2:
        outputs, inputs = parts["weight"].shape
        turned = StoredTensor(parts["weight"].values.T, parts["weight"].dtype)
        bias = [parts["bias"]] if "bias" in parts else []
        if all(each.shape == (outputs,) for each in bias):
            return _Unit(kind, name, [turned, *bias], inputs, outputs)
    if kind == "other" and set(parts) == set(map(str, range(len(parts)))):
        return _Unit(kind, name, [parts[str(number)] for number in range(len(parts))])
    raise CheckpointError(f"{where}: the tensors of {name!r:.80} ({', '.join(parts)}): {_NO_LAYER}")


def _in_order(units: list[_Unit], model: Mapping[str, Any], where: str) -> list[_Unit]:
    """The layers in the order of a description that has their names; a file may hold tensors in any order."""
    names = [layer["name"] for layer in model["layers"] if layer["weights"]]
    missing = next((unit.name for unit in units if unit.name not in names), None)
    if missing is not None and {unit.name for unit in units} > set(names):
        raise CheckpointError(f"{where}: {missing!r:.60} is not among its layers: {stack.describe(model)}")
    if sorted(names) != sorted(unit.name for unit in units):
        return units
    places = {name: place for place, name in reversed([*enumerate(names)])}
    return sorted(units, key=lambda unit: (places[unit.name], unit.depth))


def _entries(units: list[_Unit], model: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The entries of a description with the arrays of the layers, which follow in the same order."""
    waiting, width = iter(units), units[0].inputs if units else 1
    entries: list[dict[str, Any]] = []
    for entry in model["layers"]:
        kind = "dense" if entry["type"] in stack.DENSE else entry["type"] if entry["type"] == "gru" else "other"
        if not entry["weights"]:
            entries.append({"shape": [None, None, width], **entry, "weights": []})
            continue
        unit = next(waiting, None)
        if unit is None or unit.kind != kind:
            came = f"{unit.kind} {unit.name!r:.60}" if unit else "no further layer"
            raise CheckpointError(
                f"{where}: its description has {entry['type']} {entry['name']!r:.60}, its tensors {came}"
            )
        entries.append({**unit.entry(), **entry, "name": unit.name, "weights": unit.weights})
        width = unit.outputs
    if (left := next(waiting, None)) is not None:
        raise CheckpointError(f"{where}: {left.name!r:.60} is not among its layers: {stack.describe(model)}")
    return entries
