"""Shapes and dtypes of a graph before there are values: each node runs on torch's meta device, which has shapes only."""

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..base import DTYPE_NUMBERS, MXNetError
from ..operators.recurrent import parameter_shapes
from ..operators.registry import truth
from .graph import Program, flattened_parameters
from .node import Entry, Node, topological

Shape = tuple[int, ...]


@dataclass
class Shapes:
    """What was inferred: a shape (or None) for every variable, and the outputs' shapes."""

    variables: dict[str, Shape | None]
    outputs: list[Shape | None]


def _declared(node: Node) -> Shape | None:
    text = node.attrs.get("__shape__")
    return None if text is None else tuple(ast.literal_eval(text))


def _merge(name: str, old: Shape | None, new: Shape) -> Shape:
    """Two descriptions of one shape; 0 is a size not known yet.

    Raises:
        MXNetError: where they contradict each other.
    """
    if old is None:
        return tuple(new)
    if len(old) != len(new) or any(a and b and a != b for a, b in zip(old, new, strict=True)):
        raise MXNetError(f"{name}: shape {old} was declared, {tuple(new)} is needed")
    return tuple(a or b for a, b in zip(old, new, strict=True))


def _known(shape: Shape | None) -> bool:
    return shape is not None and 0 not in shape


def shapes(heads: list[Entry], given: dict[str, Any]) -> Shapes:
    """Infer the shapes of variables and outputs from those given by name and those declared.

    Raises:
        MXNetError: for shapes that do not fit together.
    """
    nodes = topological(node for node, _ in heads)
    variables: dict[str, Shape | None] = {}
    for node in nodes:
        if node.operator is None:
            known = given.get(node.name)
            declared = _declared(node)
            variables[node.name] = declared if known is None else _merge(node.name, declared, tuple(known))
    values: dict[tuple[int, int], torch.Tensor | None] = {}
    for node in nodes:
        if node.operator is not None:
            _infer_inputs(node, variables, values)
            _run(node, variables, values)
    outputs = [_shape_of(entry, variables, values) for entry in heads]
    return Shapes(variables, outputs)


def _shape_of(entry: Entry, variables: dict, values: dict) -> Shape | None:
    node, index = entry
    if node.operator is None:
        return variables[node.name]
    value = values.get((id(node), index))
    return None if value is None else tuple(value.shape)


def _infer_inputs(node: Node, variables: dict, values: dict) -> None:
    """Give the variables that a node reads the shapes that its other inputs imply."""
    assert node.operator is not None
    parameters = flattened_parameters(node)
    if parameters is not None:
        data = _shape_of(node.inputs[0], variables, values)
        if data is not None:
            attributes = node.operator.parse(node.attrs)
            needed = parameter_shapes(
                data[2],
                int(attributes["state_size"]),
                int(attributes["num_layers"]),
                2 if truth(attributes.get("bidirectional", False)) else 1,
            )
            _assign(parameters, needed, variables)
        return
    if node.operator.infer is None:
        return
    known = [_shape_of(entry, variables, values) for entry in node.inputs]
    if not all(_known(shape) for shape in known):
        found = node.operator.infer(node.operator.parse(node.attrs), list(known))
        _assign(node.inputs, found, variables)


def _assign(entries: list[Entry], found: list, variables: dict) -> None:
    for (below, _), shape in zip(entries, found, strict=False):
        if below.operator is None and shape is not None:
            variables[below.name] = _merge(below.name, variables[below.name], shape)


def _run(node: Node, variables: dict, values: dict) -> None:
    """Compute the shapes of a node's outputs, if those of its inputs are known."""
    parameters = flattened_parameters(node)
    reads = node.inputs if parameters is None else [node.inputs[0], *node.inputs[2:], *parameters]
    tensors = []
    for below, index in reads:
        if below.operator is None:
            shape = variables[below.name]
            tensors.append(torch.empty(shape, device="meta") if _known(shape) else None)
        else:
            tensors.append(values.get((id(below), index)))
    if any(tensor is None for tensor in tensors):
        return
    known = [tensor for tensor in tensors if tensor is not None]
    # The node alone, over variables in place of its inputs, runs as it would in the whole graph.
    stand_ins = [(Node(None, f"input{place}"), 0) for place in range(len(node.inputs))]
    if parameters is not None:
        joined, sources = node.inputs[1][0], [(Node(None, f"parameter{i}"), 0) for i in range(len(parameters))]
        flat = [(Node(b.operator, b.name, b.attrs, [s]), 0) for (b, _), s in zip(joined.inputs, sources, strict=True)]
        stand_ins[1] = (Node(joined.operator, joined.name, joined.attrs, flat), 0)
        ordered = [stand_ins[0], *stand_ins[2:], *sources]
    else:
        ordered = stand_ins
    alone = Node(node.operator, node.name, node.attrs, stand_ins)
    program = Program([(alone, index) for index in range(alone.outputs())])
    by_name = {entry[0].name: tensor for entry, tensor in zip(ordered, known, strict=True)}
    results = program.run([by_name[name] for name in program.variables])
    for index, result in enumerate(results):
        values[id(node), index] = result.to("meta") if result.device.type != "meta" else result


# Operators whose inputs must be of one dtype; of the RNN's, the lengths are excepted.
_UNIFORM = frozenset({"FullyConnected", "LayerNorm", "RNN", "Concat", "_rnn_param_concat", "dot", "batch_dot"}) | {
    f"{kind}_{name}" for kind in ("elemwise", "broadcast") for name in ("add", "sub", "mul", "div")
}
# Operators whose results may be of another dtype than their first input, where no attribute says which.
_OTHER_RESULTS = frozenset(
    {"one_hot", "argmax", "argmin", "argmax_channel", "argsort", "topk", "shape_array", "size_array", "where"}
)


def types(nodes: list[Node], given: dict[str, Any]) -> tuple[dict[str, type], dict[int, type]]:
    """The dtype of every variable (the declared one, else the one given, else that of what it meets, else float32), and of
    the results of every node, by its `id`.

    Raises:
        MXNetError: for an operator whose inputs must be of one dtype and are not.
    """
    by_number = {str(number): dtype for dtype, number in DTYPE_NUMBERS.items()}
    found: dict[int, type] = {}
    for node in nodes:
        if node.operator is None:
            declared = by_number.get(node.attrs.get("__dtype__", ""))
            dtype = declared or (np.dtype(given[node.name]).type if node.name in given else None)
        else:
            dtype = _result_type(node, found)
        if dtype is not None:
            found[id(node)] = dtype
    variables = {node.name: found.get(id(node), np.float32) for node in nodes if node.operator is None}
    return variables, found


def _result_type(node: Node, found: dict[int, type]) -> type | None:
    assert node.operator is not None
    name = node.operator.name
    inputs = [below for below, _ in node.inputs]
    if name == "Embedding":
        inputs = inputs[1:]
    known = [found[id(below)] for below in inputs if id(below) in found]
    if name in _UNIFORM and known:
        for below in inputs[:3] if name == "RNN" else inputs:
            if found.setdefault(id(below), known[0]) is not known[0]:
                raise MXNetError(
                    f"Error in operator {node.name}: all inputs must be of one dtype, expected {known[0].__name__}, got "
                    f"{found[id(below)].__name__} for {below.name}"
                )
    dtype = node.attrs.get("dtype")
    if dtype not in (None, "None"):
        return np.dtype(dtype).type
    return known[0] if known and name not in _OTHER_RESULTS else None
