"""The graph behind a symbol: nodes with named operators, text attributes and numbered outputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base import MXNetError
from ..ndarray.custom import operator_of
from ..operators import OPERATORS, Operator

# Attributes of all symbols. MXNet stores them with two underscores on both sides.
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")
Entry = tuple["Node", int]


class Node:
    """A variable (without an operator), or an operator applied to entries of other nodes.

    Attributes:
        attrs: texts, as in a file. Names between `__` describe the node.
        graphs: the heads of each graph of a loop or a branch.
        fused: None, or an operator, inputs and attributes that compute the same result faster; used only to run the graph.
    """

    __slots__ = ("attrs", "fused", "graphs", "inputs", "name", "operator")

    def __init__(
        self,
        operator: Operator | None,
        name: str,
        attrs: Mapping[str, str] | None = None,
        inputs: Iterable[Entry] = (),
        graphs: Iterable[list[Entry]] = (),
    ) -> None:
        self.operator = operator
        self.name = name
        self.attrs = dict(attrs or {})
        self.inputs: list[Entry] = list(inputs)
        self.graphs = list(graphs)
        self.fused: tuple[Operator, list[Entry], dict[str, Any]] | None = None

    def outputs(self) -> int:
        """The number of visible outputs."""
        return 1 if self.operator is None else self.operator.outputs(self.operator.parse(self.attrs))

    def counted(self) -> int:
        """The number of outputs in a file, including invisible ones."""
        return 1 if self.operator is None else self.operator.counted(self.operator.parse(self.attrs))

    def wires(self) -> Iterator[tuple[list[Entry], list["Node"], list[int]]]:
        """For each graph of a loop or branch its heads, its variables, and the node's inputs for these variables.

        Raises:
            MXNetError: if the attributes do not fit the graphs.
        """
        if self.operator is None or self.operator.wires is None:
            return
        places = self.operator.wires(self.operator.parse(self.attrs))
        if len(places) != len(self.graphs):
            raise MXNetError(f"{self.name}: {self.operator.name} has {len(places)} graphs, got {len(self.graphs)}")
        for heads, chosen in zip(self.graphs, places, strict=True):
            variables = [node for node in topological(node for node, _ in heads) if node.operator is None]
            if len(chosen) != len(variables) or not all(0 <= place < len(self.inputs) for place in chosen):
                raise MXNetError(f"{self.name}: its attributes do not assign an input to each variable of a graph")
            yield heads, variables, chosen

    def output_name(self, index: int) -> str:
        """The name of an output, as in `list_outputs`."""
        if self.operator is None:
            return self.name
        if self.operator.output_names:
            names = self.operator.output_names
            return f"{self.name}_{names(index) if callable(names) else names[index]}"
        return f"{self.name}_output" if self.outputs() == 1 else f"{self.name}_output{index}"


def topological(heads: Iterable[Node], inputs: Callable[[Node], list[Entry]] = lambda node: node.inputs) -> list[Node]:
    """All nodes that the heads depend on, each after its inputs, in MXNet's depth-first order."""
    order: list[Node] = []
    seen: set[int] = set()
    for head in heads:
        if id(head) in seen:
            continue
        seen.add(id(head))
        stack = [(head, iter(inputs(head)))]
        while stack:
            node, rest = stack[-1]
            for below, _ in rest:
                if id(below) not in seen:
                    seen.add(id(below))
                    stack.append((below, iter(inputs(below))))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


@contextmanager
def naming(node: Node) -> Iterator[None]:
    """Convert an error about a node's attributes to an error that names the node.

    Raises:
        MXNetError: for each of these errors.
    """
    try:
        yield
    except MXNetError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, SyntaxError, RuntimeError) as error:
        operator = "variable" if node.operator is None else node.operator.name
        raise MXNetError(f"Error in {operator} {node.name}: {type(error).__name__}: {str(error)[:1000]}") from error


def text_of(value: Any) -> str:
    """The text of an attribute in MXNet's format."""
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value).name
    if isinstance(value, np.dtype):
        return value.name
    return str(_plain(value))


def _plain(value: Any) -> Any:
    """Tuples of Python numbers: NumPy 2 prints numbers in tuples with their types."""
    if isinstance(value, (list, tuple)):
        return tuple(_plain(member) for member in value)
    if isinstance(value, np.floating):
        # The shortest text: a float32 of 0.1 becomes 0.1, not 0.10000000149.
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


def operator_named(name: str, attrs: Mapping[str, str]) -> Operator:
    """An operator by its name and attributes in a file.

    Raises:
        MXNetError: for an unknown operator.
    """
    if name == "Custom":
        return operator_of(attrs)
    try:
        return OPERATORS[name]
    except KeyError:
        raise MXNetError(f"the operator {name} is not covered by anygru's MXNet dialect") from None
