"""Infers the shapes of a graph.

A node with known inputs runs on torch's meta device, where tensors have shapes and no values. Operators with one shape for all
inputs and
results, and operators that imply the shapes of further inputs, propagate known shapes in both directions.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..base import MXNetError
from ..operators.recurrent import gates_of, parameter_shapes
from ..operators.registry import MOST_AXES, truth, value_of
from ..state import state
from .graph import Program, created_shape, flattened_parameters, unknown_size
from .node import Entry, Node, naming, topological

Shape = tuple[int, ...]

# Trial values of an unknown size: sizes of a result that differ between trials depend on it.
_TRIALS = (5, 7)


def known(shape: Shape | None) -> bool:
    """Whether all sizes are known. 0 is an unknown size."""
    return shape is not None and 0 not in shape


def _merge(old: Shape | None, new: Shape, entry: Entry, reader: Node) -> Shape:
    """Combine two partly known shapes.

    Raises:
        MXNetError: if they differ.
    """
    if old is None:
        return tuple(new)
    if len(old) != len(new) or any(a and b and a != b for a, b in zip(old, new, strict=True)):
        raise MXNetError(f"Error in operator {reader.name}: {entry[0].name} has shape {old}, {tuple(new)} is needed")
    return tuple(a or b for a, b in zip(old, new, strict=True))


class Shapes:
    """The known shapes of a graph's entries."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Shape] = {}
        self._ran_on: dict[int, list[Shape]] = {}
        self.changed = False

    def of(self, entry: Entry) -> Shape | None:
        """The shape of one output of a node: None if unknown, with 0 for unknown sizes."""
        return self._known.get((id(entry[0]), entry[1]))

    def add(self, entry: Entry, shape: Shape | None, reader: Node) -> None:
        """Record a shape that `reader` implies.

        Raises:
            MXNetError: if another shape is known, and for too many axes.
        """
        if shape is None:
            return
        if len(shape) > MOST_AXES:
            raise MXNetError(f"{entry[0].name} has {len(shape)} axes, at most {MOST_AXES} are possible")
        old = self.of(entry)
        merged = _merge(old, shape, entry, reader)
        if merged != old:
            self._known[id(entry[0]), entry[1]] = merged
            self.changed = True

    def has_new_shapes(self, node: Node, shapes: list[Shape]) -> bool:
        """Whether a node has not run on inputs of these shapes yet."""
        before = self._ran_on.get(id(node))
        self._ran_on[id(node)] = shapes
        return before != shapes


def shapes(heads: list[Entry], given: Mapping[str, Shape]) -> Shapes:
    """Infer all shapes from the given or declared shapes of variables.

    Raises:
        MXNetError: for shapes that do not fit together.
    """
    nodes = topological(node for node, _ in heads)
    found = Shapes()
    for node in nodes:
        if node.operator is None:
            # A shape without sizes is unknown.
            with naming(node):
                found.add((node, 0), given.get(node.name, _declared(node)) or None, node)
    found.changed = True
    while found.changed:
        found.changed = False
        for node in nodes:
            if node.operator is not None:
                with naming(node):
                    _propagate(node, found)
                    if not node.operator.alike:
                        _run(node, found)
        for node in reversed(nodes):
            if node.operator is not None:
                with naming(node):
                    _propagate(node, found)
    return found


def _declared(node: Node) -> Shape | None:
    text = node.attrs.get("__shape__")
    if text is None:
        return None
    shape = value_of(text, "__shape__")
    if not isinstance(shape, (tuple, list)) or not all(isinstance(size, int) for size in shape):
        raise MXNetError(f"Error in variable {node.name}: __shape__ must be a tuple of integers, got {text[:60]!r}")
    return tuple(shape)


def _propagate(node: Node, found: Shapes) -> None:
    """Propagate between a node's inputs and outputs."""
    assert node.operator is not None
    if node.operator.alike:
        entries = [*node.inputs, *((node, index) for index in range(node.outputs()))]
        for shape in [found.of(entry) for entry in entries]:
            for entry in entries:
                found.add(entry, shape, node)
        return
    attributes = node.operator.parse(node.attrs)
    parameters = flattened_parameters(node)
    data = found.of(node.inputs[0]) if node.inputs else None
    if parameters is not None and data is not None and data[-1]:
        directions = 2 if truth(attributes.get("bidirectional", False)) else 1
        gates = gates_of(attributes.get("mode", "gru"))
        hidden, layers = int(attributes["state_size"]), int(attributes["num_layers"])
        projection = int(attributes.get("projection_size") or 0)
        needed = parameter_shapes(data[-1], hidden, layers, directions, gates, projection)
        for entry, size in zip(parameters, needed, strict=False):
            found.add(entry, size, node)
    for heads, variables, places in node.wires():
        _propagate_graph(node, heads, variables, places, found)
    if node.operator.rows:
        _propagate_rows(node.inputs[0], (node, 0), node, found)
    if node.operator.back is not None:
        results = [found.of((node, index)) for index in range(node.outputs())]
        inputs = [found.of(entry) for entry in node.inputs]
        for entry, shape in zip(node.inputs, node.operator.back(attributes, inputs, results), strict=True):
            found.add(entry, shape, node)
    if node.operator.infer is not None:
        implied = node.operator.infer(attributes, [found.of(entry) for entry in node.inputs])
        for entry, shape in zip(node.inputs, implied, strict=True):
            found.add(entry, shape, node)


def _propagate_rows(first: Entry, second: Entry, node: Node, found: Shapes) -> None:
    """Propagate the number of rows between two entries, unless both are vectors: a `Dense(flatten=False)` of a vector."""
    sizes = [found.of(first), found.of(second)]
    if all(size is not None and len(size) == 1 for size in sizes):
        return
    rows = next((size[0] for size in sizes if size and size[0]), 0)
    for entry, size in zip((first, second), sizes, strict=True):
        if size:
            found.add(entry, (rows, *size[1:]), node)


def _propagate_graph(node: Node, heads: list[Entry], variables: list[Node], places: list[int], found: Shapes) -> None:
    """Propagate shapes from a loop's or branch's graph to its inputs; `foreach` passes slices of its first inputs."""
    assert node.operator is not None
    sliced = len(node.operator.parse(node.attrs).get("in_data_locs", ()))
    read = [found.of(node.inputs[place]) for place in places]
    given = {
        variable.name: (shape[1:] or (1,)) if place < sliced else shape
        for variable, place, shape in zip(variables, places, read, strict=True)
        if shape is not None
    }
    inner = shapes(heads, given)
    for variable, place, shape in zip(variables, places, read, strict=True):
        inferred = inner.of((variable, 0))
        if inferred is not None:
            if place < sliced:
                inferred = shape if shape is not None and len(shape) == 1 else ((shape or (0,))[0], *inferred)
            found.add(node.inputs[place], inferred, node)


def _run(node: Node, found: Shapes) -> None:
    """Compute the shapes of a node's results from the shapes of its inputs."""
    parameters = flattened_parameters(node)
    reads = node.inputs if parameters is None else [node.inputs[0], *node.inputs[2:], *parameters]
    read = [found.of(entry) for entry in reads]
    sizes = [shape for shape in read if shape is not None]
    if len(sizes) < len(read) or not found.has_new_shapes(node, sizes):
        return
    results: list[Shape | None]
    if all(known(shape) for shape in sizes) and not unknown_size(node):
        results = list(_results(node, sizes))
    else:
        results = _results_on_trial(node, sizes)
    for index, shape in enumerate(results):
        found.add((node, index), shape if shape or state.numpy else None, node)


def _results_on_trial(node: Node, sizes: list[Shape]) -> list[Shape | None]:
    """The results' shapes, with 0 for sizes that depend on unknown sizes."""
    if unknown_size(node):
        return [created_shape(node)]
    trials = []
    for trial in _TRIALS:
        try:
            trials.append(_results(node, [tuple(size or trial for size in shape) for shape in sizes]))
        except MXNetError:  # two sizes that must be equal; at least one is unknown
            return [_broadcast(node, sizes)] if _broadcasts(node) else []
    return [
        tuple(a if a == b else 0 for a, b in zip(first, second, strict=True)) if len(first) == len(second) else None
        for first, second in zip(*trials, strict=True)
    ]


def _broadcasts(node: Node) -> bool:
    return node.operator is not None and node.operator.pointwise and not node.operator.alike


def _broadcast(node: Node, sizes: list[Shape]) -> Shape:
    """The shape of arrays that broadcast, with 0 for an axis with any unknown size (MXNet 1.9.1, recorded).

    Raises:
        MXNetError: for known sizes that do not broadcast.
    """
    ndim = max(map(len, sizes))
    axes = list(zip(*((1,) * (ndim - len(shape)) + shape for shape in sizes), strict=True))
    if any(len(set(axis) - {0, 1}) > 1 for axis in axes):
        raise MXNetError(f"{node.name}: inputs must broadcast, got the shapes {', '.join(map(str, sizes))}")
    return tuple(0 if 0 in axis else max(axis) for axis in axes)


def _results(node: Node, sizes: list[Shape]) -> list[Shape]:
    """The results' shapes for inputs of these sizes, from a run of a graph with only this node."""
    parameters = flattened_parameters(node)
    stand_ins = [(Node(None, f"input{place}"), 0) for place in range(len(node.inputs))]
    ordered = stand_ins
    if parameters is not None:
        joined, sources = node.inputs[1][0], [(Node(None, f"parameter{i}"), 0) for i in range(len(parameters))]
        flat = [(Node(b.operator, b.name, b.attrs, [s]), 0) for (b, _), s in zip(joined.inputs, sources, strict=True)]
        stand_ins[1] = (Node(joined.operator, joined.name, joined.attrs, flat), 0)
        ordered = [stand_ins[0], *stand_ins[2:], *sources]
    alone = Node(node.operator, node.name, node.attrs, stand_ins, node.graphs)
    program = Program([(alone, index) for index in range(alone.outputs())])
    values = {entry[0].name: torch.empty(shape, device="meta") for entry, shape in zip(ordered, sizes, strict=True)}
    with _OnMeta():
        return [tuple(result.shape) for result in program.run([values[name] for name in program.variables])]


class _OnMeta(TorchFunctionMode):
    """Create all new tensors on the meta device, where they need no memory."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        if func in _MAKERS:
            given["device"] = "meta"
        return func(*args, **given)


_MAKERS = {
    torch.empty,
    torch.full,
    torch.zeros,
    torch.ones,
    torch.arange,
    torch.linspace,
    torch.eye,
    torch.rand,
    torch.randn,
}
