"""GRU nodes of an ONNX graph: group them to layers of one GRU, and read their options."""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import CheckpointError
from ..layout import CheckpointLayout
from ..stored import StoredTensor
from .budget import Budget
from .content import EntryMark
from .source import shown

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

_PARTS = ("W_l{layer}{direction}", "R_l{layer}{direction}", "Wb_l{layer}{direction}", "Rb_l{layer}{direction}")
LAYOUT = (
    CheckpointLayout(
        name="ONNX GRU", cell=False, weight_ih=_PARTS[:1], weight_hh=_PARTS[1:2], bias_ih=_PARTS[2:3],
        bias_hh=_PARTS[3:], directions=("", "_reverse"), order="zrn",
    ),
)  # fmt: skip

# ONNX's activations by anygru's names: their name, alpha, beta. Attributes that are not given have ONNX's defaults.
_ACTIVATIONS = {
    ("Sigmoid", None, None): "sigmoid",
    ("Tanh", None, None): "tanh",
    ("Relu", None, None): "relu",
    ("Softsign", None, None): "softsign",
    ("Softplus", None, None): "softplus",
    ("Affine", 1.0, 0.0): "identity",
    ("HardSigmoid", 1.0 / 6.0, 0.5): "hardsigmoid",
    ("Elu", 1.0, None): "elu",
}
_DEFAULTS: dict[str, tuple[float | None, float | None]] = {
    "Affine": (
        math.nan,
        math.nan,
    ),  # 1 and 0 in ONNX's first operator set, 0 and 0 in ONNX Runtime 1.31: so they must be given
    "HardSigmoid": (0.2, 0.5),
    "Elu": (1.0, None),
    "LeakyRelu": (0.01, None),
}
_DEFAULTS |= {"ScaledTanh": (None, None), "ThresholdedRelu": (1.0, None)}
_FLOAT, _INT, _STRING, _FLOATS, _STRINGS = 1, 2, 3, 6, 8
_ATTRIBUTES = {"activation_alpha": _FLOATS, "activation_beta": _FLOATS, "activations": _STRINGS, "clip": _FLOAT}
_ATTRIBUTES |= {"direction": _STRING, "hidden_size": _INT, "layout": _INT, "linear_before_reset": _INT}
_ATTRIBUTES |= {"output_sequence": _INT}
"""The attributes of GRU in operator sets 1 to 22, with their types. output_sequence, of set 1, selects the outputs."""
OF_SHAPES = {"Shape", "Size"}
"""Operators that read no values."""
LONGEST_CHAIN = 16


class Constants(Protocol):
    """The values that a graph stores."""

    def value(self, name: str, place: str) -> np.ndarray:
        """Return the array of that name, or raise CheckpointError if it is computed."""

    def stored_within(self, name: str) -> str:
        """Return the name of a stored number other than 0 from which alone a value is computed; "" without such a number."""


def subgraphs(node: "NodeProto") -> Iterator["GraphProto"]:
    """The graphs inside a node: the branches of If, the body of Loop or Scan."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _read_inside(node: "NodeProto") -> Iterator[str]:
    """The names that the graphs inside a node read; they may be values of the graph around it."""
    waiting = list(subgraphs(node))
    while waiting:
        graph = waiting.pop()
        yield from (value.name for value in graph.output)
        for inner in graph.node:
            yield from inner.input
            waiting.extend(subgraphs(inner))


def stacks(graph: "GraphProto | FunctionProto", constants: Constants, where: str) -> list[list["NodeProto"]]:
    """GRU nodes grouped into stacks of layers; each feeds only the next, with its axes in the same places."""
    readers: dict[str, list[NodeProto]] = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            readers[name].append(node)
    outputs = {value if isinstance(value, str) else value.name for value in graph.output}
    outputs.update(name for node in graph.node for name in _read_inside(node))
    grus = [node for node in graph.node if node.op_type == "GRU" and node.domain in ("", "ai.onnx")]
    above = {id(node): _next_layer(node, readers, outputs, constants) for node in grus}
    fed = {id(node) for node in above.values() if node is not None}
    stacks = []
    for node in grus:
        if id(node) not in fed:
            stack = [node]
            while (following := above[id(stack[-1])]) is not None:
                stack.append(following)
            stacks.append(stack)
    if len(grus) != sum(map(len, stacks)):
        raise CheckpointError(f"{where}: GRU nodes that feed each other in a circle")
    return stacks


def _next_layer(
    node: "NodeProto", readers: dict[str, list["NodeProto"]], outputs: set[str], constants: Constants
) -> "NodeProto | None":
    """The GRU node with the whole output of this node as its input and the same attributes."""
    name = node.output[0] if node.output else ""
    batch_first = any(attribute.name == "layout" and attribute.i for attribute in node.attribute)
    axes = "btdh" if batch_first else "tdbh"  # of Y: steps, directions, sequences, units
    for _ in range(LONGEST_CHAIN):
        # torch's older exporter makes each layer's first state of zeros, with the number of sequences from its input's shape.
        reading = [reader for reader in readers[name] if reader.op_type not in OF_SHAPES]
        if not name or name in outputs or len(reading) != 1:
            return None
        (reader,) = reading
        if reader.op_type == "GRU" and reader.input[0] == name:
            same = _attributes(reader) == _attributes(node) and list(reader.input[4:5]) == list(node.input[4:5])
            in_place = axes == ("bth" if batch_first else "tbh")
            return reader if same and in_place and reader is not node else None
        moved = _moved(axes, reader, constants) if reader.input[0] == name else None
        if moved is None:
            return None
        axes, name = moved, reader.output[0]
    return None


def _moved(axes: str, node: "NodeProto", constants: Constants) -> str | None:
    """Where a GRU's axes are after a node that only moves them; None after any other, or where its numbers are not stored.

    "h" without "d" is the units of all directions.
    """
    given = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type in ("Identity", "Dropout"):
        return axes
    if node.op_type == "Transpose":
        order = given.get("perm", list(range(len(axes)))[::-1])
        return "".join(axes[place] for place in order) if sorted(order) == list(range(len(axes))) else None
    try:
        key = {"Squeeze": "axes", "Reshape": "shape"}[node.op_type]
        numbers = given.get(key) or [int(value) for value in constants.value(node.input[1], "")]
    except (KeyError, IndexError, CheckpointError):
        return None
    if node.op_type == "Squeeze":  # of an axis of 1, so it is the directions'
        return axes.replace("d", "") if "d" in axes and numbers in ([axes.index("d")], [axes.index("d") - 4]) else None
    return axes[:2] + "h" if axes[2:] == "dh" and numbers[:2] == [0, 0] and len(numbers) == 3 else None


def _attributes(node: "NodeProto") -> dict[str, bytes]:
    return {attribute.name: attribute.SerializeToString() for attribute in node.attribute}


def _checked_attributes(node: "NodeProto", place: str) -> dict[str, "AttributeProto"]:
    """The attributes by name, each one known and of its type; a value of another type would be read as 0."""
    given: dict[str, AttributeProto] = {}
    for attribute in node.attribute:
        if attribute.name not in _ATTRIBUTES or attribute.name in given:
            what = "is there twice" if attribute.name in given else "is not known"
            raise CheckpointError(f"{place}: the attribute {shown(attribute.name)} {what}")
        if attribute.type != _ATTRIBUTES[attribute.name] or attribute.ref_attr_name:
            raise CheckpointError(f"{place}: the attribute {attribute.name} is of another type than GRU's")
        given[attribute.name] = attribute
    return given


def _stored_inputs(node: "NodeProto", constants: Constants) -> Iterator[str]:
    """Values that a caller has to pass, since a layer does not store them."""
    for place, name, argument in ((4, "sequence_lens", "lengths"), (5, "initial_h", "h_0")):
        stored = constants.stored_within(node.input[place]) if len(node.input) > place else ""
        if stored:
            yield f"{name}: the model stores it, in {shown(stored)}; a layer has none: pass it on as {argument}"


class Node:
    """One GRU node, checked."""

    def __init__(self, node: "NodeProto", constants: Constants, place: str) -> None:
        self._place = place
        given = _checked_attributes(node, place)
        if "clip" in given:
            raise CheckpointError(f"{place}: clip={given['clip'].f} is not supported; anygru's GRU does not clip")
        direction = given["direction"].s.decode("utf-8", "replace") if "direction" in given else "forward"
        if direction not in ("forward", "reverse", "bidirectional"):
            raise CheckpointError(f"{place}: direction must be forward, reverse or bidirectional, got {direction!r}")
        self._directions = 2 if direction == "bidirectional" else 1
        after = "linear_before_reset" in given and given["linear_before_reset"].i != 0
        formula = {"reset": "after" if after else "before", **self._activations(given)}
        batch_first = "layout" in given and given["layout"].i != 0
        self.mark = EntryMark(
            formula, direction == "reverse", batch_first, notes=tuple(_stored_inputs(node, constants))
        )
        if not 3 <= len(node.input) <= 6:
            raise CheckpointError(
                f"{place}: a GRU has the inputs X, W and R at least, and six at most, got {len(node.input)}"
            )
        self._arrays = {key: constants.value(node.input[at], place) for key, at in (("W", 1), ("R", 2))}
        if len(node.input) > 3 and node.input[3]:
            self._arrays["B"] = constants.value(node.input[3], place)
        self._check(given["hidden_size"].i if "hidden_size" in given else None)

    def parts(self, layer: int, budget: Budget) -> dict[str, StoredTensor]:
        """The tensors of each direction by their names in `LAYOUT`."""
        found = {}
        hidden = self._arrays["R"].shape[2]
        budget.take(sum(array.nbytes for array in self._arrays.values()))
        for direction in range(self._directions):
            values = [self._arrays["W"][direction], self._arrays["R"][direction]]
            if "B" in self._arrays:
                values += [self._arrays["B"][direction, : 3 * hidden], self._arrays["B"][direction, 3 * hidden :]]
            for name, value in zip(_PARTS, values, strict=False):
                key = name.format(layer=layer, direction="_reverse" if direction else "")
                found[key] = StoredTensor.of(np.ascontiguousarray(value))
        return found

    def _check(self, hidden: int | None) -> None:
        weight, recurrent = self._arrays["W"], self._arrays["R"]
        size = hidden if hidden is not None else recurrent.shape[-1] if recurrent.ndim else 0
        expected: dict[str, tuple[int, ...]] = {
            "W": (self._directions, 3 * size, weight.shape[-1] if weight.ndim else 0)
        }
        expected |= {"R": (self._directions, 3 * size, size), "B": (self._directions, 6 * size)}
        for key, array in self._arrays.items():
            if array.shape != expected[key] or not size or array.dtype.kind != "f":
                raise CheckpointError(
                    f"{self._place}: {key} must be floats of shape {expected[key]}, got {array.dtype} {array.shape}"
                )

    def _activations(self, given: dict[str, Any]) -> dict[str, str]:
        """The names of the activations of the gates and of the candidate, the same in both directions."""
        names = (
            [name.decode("utf-8", "replace") for name in given["activations"].strings] if "activations" in given else []
        )
        numbers = {
            key: list(given[f"activation_{key}"].floats) if f"activation_{key}" in given else []
            for key in ("alpha", "beta")
        }
        found = []
        for name in names or ["Sigmoid", "Tanh"] * self._directions:
            values = []
            for key, default in zip(("alpha", "beta"), _DEFAULTS.get(name, (None, None)), strict=True):
                values.append(numbers[key].pop(0) if default is not None and numbers[key] else default)
            known = (
                n
                for key, n in _ACTIVATIONS.items()
                if key[0] == name and np.allclose(_numbers(key[1:]), _numbers(values))
            )
            found.append(next(known, None))
            if found[-1] is None:
                raise CheckpointError(
                    f"{self._place}: the activation {name} with alpha, beta = {values} is not supported"
                )
        if any(numbers.values()):
            raise CheckpointError(
                f"{self._place}: activation_alpha or activation_beta has values beyond its activations'"
            )
        if len(found) != 2 * self._directions or found[:2] * self._directions != found:
            raise CheckpointError(
                f"{self._place}: two directions with different activations are not supported: {names}"
            )
        return {"gate_activation": str(found[0]), "activation": str(found[1])}


def _numbers(values: Any) -> list[float]:
    return [float("inf") if value is None else value for value in values]
