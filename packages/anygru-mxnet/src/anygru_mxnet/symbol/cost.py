"""Bound the memory and the work of a graph before it runs, because a short file may describe a huge graph."""

import math
from collections.abc import Mapping

from ..base import MXNetError
from ..operators.registry import truth
from .infer import Shape, known, shapes
from .node import Entry, Node, topological

_BYTES = 8
"""The bytes of the largest number type."""
_PER_OBJECT = 512
"""The bytes of the objects around a result."""
_PRODUCTS = ("FullyConnected", "batch_dot", "dot", "_linalg_", "_contrib_interleaved_matmul_")
"""Prefixes of the names of operators that multiply, factorize or invert matrices."""
_WINDOWS = ("Convolution", "Deconvolution", "LRN", "Pooling")
"""Operators that read a window around each number; windows overlap."""


def of_graph(heads: list[Entry], given: Mapping[str, Shape]) -> tuple[int, int]:
    """The total bytes of all results, and the number of multiplications, from the shapes of variables by name.

    Raises:
        MXNetError: for shapes that do not fit together, and for a result of unknown shape.
    """
    found = shapes(heads, given)
    memory = work = 0
    for node in topological(node for node, _ in heads):
        if node.operator is None:
            continue
        results = [_shape(found.of((node, index)), node) for index in range(node.outputs())]
        numbers = sum(map(math.prod, results))
        memory += _BYTES * numbers + _PER_OBJECT * len(results)
        inputs = [_shape(found.of(entry), node) for entry in node.inputs]
        work += _work(node, inputs, results)
        for graph, variables, places in node.wires():
            steps = _steps(node, inputs)
            sliced = len(node.operator.parse(node.attrs).get("in_data_locs", ()))
            read = {
                variable.name: inputs[place][1:] or (1,) if place < sliced else inputs[place]
                for variable, place in zip(variables, places, strict=True)
            }
            inner_memory, inner_work = of_graph(graph, read)
            memory, work = memory + steps * inner_memory, work + steps * inner_work
    return memory, work


def _shape(shape: Shape | None, node: Node) -> Shape:
    if shape is None or not known(shape):
        raise MXNetError(f"{node.name}: its size does not follow from the sizes of the graph's inputs")
    return shape


def _steps(node: Node, inputs: list[Shape]) -> int:
    """The largest number of times that a loop or branch runs its graphs."""
    assert node.operator is not None
    attributes = node.operator.parse(node.attrs)
    if "max_iterations" in attributes:
        return max(int(attributes["max_iterations"]), 1)
    return inputs[0][0] if attributes.get("in_data_locs") and inputs[0] else 1


def _work(node: Node, inputs: list[Shape], results: list[Shape]) -> int:
    """A bound on the multiplications of one node."""
    assert node.operator is not None
    sizes = [math.prod(shape) for shape in (*inputs, *results)]
    if node.operator.name == "RNN" and len(inputs) > 1:
        return math.prod(inputs[0][:2]) * math.prod(inputs[1]) + sum(sizes)
    if node.operator.name in _WINDOWS:
        moved = inputs[0] if node.operator.name == "Deconvolution" else results[0]
        return math.prod(moved) * _window(node, inputs) + sum(sizes)
    if node.operator.name.startswith(_PRODUCTS) and inputs:
        # The product of the sizes of [m, k], [k, n] and [m, n] is the square of mkn.
        factors = sizes[: min(len(inputs), 2)]
        if len(inputs) == 1:
            return math.isqrt(factors[0]) ** 3
        return math.isqrt(math.prod(factors) * max(sizes[len(inputs) :]))
    return sum(sizes) * (len(inputs) + 1)


def _window(node: Node, inputs: list[Shape]) -> int:
    """The numbers in a window."""
    assert node.operator is not None
    if node.operator.name.endswith("onvolution"):
        return math.prod(inputs[1][1:])
    attributes = node.operator.parse(node.attrs)
    if truth(attributes.get("global_pool", False)):
        return 1
    if node.operator.name == "LRN":
        return int(attributes["nsize"])
    kernel = attributes.get("kernel") or 1
    sides = kernel if isinstance(kernel, tuple | list) else (kernel,)
    return math.prod(map(int, sides)) ** (len(inputs[0]) - 2 if len(sides) == 1 else 1)
