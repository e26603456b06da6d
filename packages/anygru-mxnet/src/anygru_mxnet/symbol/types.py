"""Infers the dtypes of a graph.

Most operators have the same dtype for all inputs and results. The tables list the exceptions.
"""

from typing import Any

import numpy as np

from ..base import DTYPE_NUMBERS, DtypeLike, MXNetError
from ..operators.registry import truth
from .node import Entry, Node, naming, topological

# Inputs of any dtype, by their positions.
_FREE = {
    "Embedding": (0,), "where": (0,), "take": (1,), "pick": (1,), "batch_take": (1,), "gather_nd": (1,),
    "scatter_nd": (1,), "slice_like": (1,), "broadcast_like": (1,), "reshape_like": (1,), "softmax": (1,),
    "_contrib_boolean_mask": (1,), "CTCLoss": (1, 2, 3),
}  # fmt: skip
# Inputs of any dtype, which default to the dtype of the other inputs.
_LENGTHS = {"SequenceMask": (1,), "SequenceLast": (1,), "SequenceReverse": (1,)}
# Dtypes of results without an attribute `dtype`; results of other operators have their inputs' dtype.
_DEFAULTS = {
    "one_hot": "float32", "argsort": "float32", "topk": "float32", "_sample_multinomial": "int32",
    "_sample_uniform": "float32", "_sample_normal": "float32", "shape_array": "int64", "size_array": "int64",
}  # fmt: skip


class Types:
    """The known dtypes of a graph's entries."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], type] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, entry: Entry) -> type | None:
        """The dtype of one output of a node, None while unknown."""
        return self._known.get((id(entry[0]), entry[1]))

    def add(self, entry: Entry, dtype: DtypeLike, reader: Node) -> None:
        """Record a dtype that `reader` implies.

        Raises:
            MXNetError: if another dtype is known.
        """
        kind = np.dtype(dtype).type
        known = self._known.setdefault((id(entry[0]), entry[1]), kind)
        if known is not kind:
            raise MXNetError(
                f"Error in operator {reader.name}: all inputs must be of one dtype, expected {kind.__name__}, got "
                f"{known.__name__} for {entry[0].name}"
            )


def types(nodes: list[Node], given: dict[str, Any]) -> Types:
    """Infer all dtypes from the given or declared dtypes of variables.

    Raises:
        MXNetError: for inputs of different dtypes in an operator that requires equal dtypes.
    """
    by_number = {str(number): dtype for dtype, number in DTYPE_NUMBERS.items()}
    found = Types()
    for node in nodes:
        if node.operator is None:
            dtype = given.get(node.name, by_number.get(node.attrs.get("__dtype__", "")))
            if dtype is not None:
                found.add((node, 0), dtype, node)
    before = -1
    while len(found) > before:
        before = len(found)
        for node in (*nodes, *reversed(nodes)):
            if node.operator is not None:
                with naming(node):
                    _propagate(node, found)
    return found


def _propagate(node: Node, found: Types) -> None:
    """Propagate between a node's inputs and outputs."""
    assert node.operator is not None
    name = node.operator.name
    if node.operator.wires is not None:
        _propagate_graphs(node, found)
        return
    if node.operator.infer_types is not None:
        entries = [*node.inputs, *((node, index) for index in range(node.outputs()))]
        inputs, results = node.operator.infer_types([found.of(entry) for entry in node.inputs])
        for entry, dtype in zip(entries, [*inputs, *results], strict=True):
            if dtype is not None:
                found.add(entry, dtype, node)
        return
    lengths = _LENGTHS.get(name, ())
    if name == "RNN" and truth(node.attrs.get("use_sequence_length", False)):
        lengths = (len(node.inputs) - 1,)
    apart = {*_FREE.get(name, ()), *lengths}
    alike = [entry for place, entry in enumerate(node.inputs) if place not in apart]
    for entry, dtype in zip([(node, index) for index in range(node.outputs())], _results(node), strict=True):
        if dtype is None:
            alike.append(entry)
        else:
            found.add(entry, dtype, node)
    common = next((dtype for dtype in map(found.of, alike) if dtype is not None), None)
    if common is None and name == "Embedding":
        common = np.dtype(_attribute(node) or "float32").type
    if common is None:
        return
    if name == "BatchNorm" and found.of(node.inputs[0]) is np.float16:
        # Scales, shifts and statistics are float32.
        alike, common = node.inputs[1:], np.float32
        found.add((node, 0), np.float16, node)
    for entry in alike:
        found.add(entry, common, node)
    for place in lengths:
        if place < len(node.inputs) and found.of(node.inputs[place]) is None:
            found.add(node.inputs[place], common, node)


def _propagate_graphs(node: Node, found: Types) -> None:
    """Propagate dtypes between a loop's or branch's graphs and its inputs and results."""
    for heads, variables, places in node.wires():
        entries = [node.inputs[place] for place in places]
        given = {
            variable.name: dtype
            for variable, entry in zip(variables, entries, strict=True)
            if (dtype := found.of(entry)) is not None
        }
        inner = types(topological(below for below, _ in heads), given)
        results = [(node, index) for index in range(node.outputs())] if heads is node.graphs[-1] else []
        for (below, index), entry in zip([*((v, 0) for v in variables), *heads], [*entries, *results], strict=False):
            dtype = inner.of((below, index))
            if dtype is not None:
                found.add(entry, dtype, node)


def _results(node: Node) -> list[Any]:
    """The dtypes of a node's results that do not depend on its inputs; None for other results."""
    assert node.operator is not None
    name, count = node.operator.name, node.outputs()
    said = None if name == "Embedding" else _attribute(node)
    if name == "topk" and node.attrs.get("ret_typ", "indices") in ("value", "mask"):
        return [None]
    said = said or _DEFAULTS.get(name) or (None if node.inputs else "float32")
    if count == 2 and name == "topk":
        return [None, said]
    if count == 2 and name == "_sample_multinomial":
        return [said, None]
    return [said] * count


def _attribute(node: Node) -> str | None:
    said = node.attrs.get("dtype", node.attrs.get("out_dtype"))
    return None if said in (None, "None") else said
