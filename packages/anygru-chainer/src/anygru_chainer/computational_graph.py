"""Drawing graphs: `build_computational_graph(outputs).dump()` is text in Graphviz's language."""

import heapq
from collections.abc import Iterable, Sequence
from typing import Any

from .function_node import FunctionNode
from .variable import Variable, VariableNode

Node = VariableNode | FunctionNode
Style = dict[str, str] | str | None
_VARIABLE_STYLE = {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"}
_FUNCTION_STYLE = {"shape": "record", "fillcolor": "#6495ED", "style": "filled"}


def _style(style: Style, usual: dict[str, str]) -> dict[str, str]:
    return usual if style == "default" else dict(style or {})  # type: ignore[arg-type]


class ComputationalGraph:
    """Nodes of a graph and the edges between them.

    Args:
        nodes: variables' nodes and functions.
        edges: pairs of them, in the direction of the computation.
        variable_style, function_style: Graphviz's attributes, "default" or None for none.
        rankdir: direction of the drawing, "TB", "BT", "LR" or "RL" (ValueError).
        remove_variable: draw functions only.
        show_name: write names of variables.
    """

    def __init__(
        self, nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]], variable_style: Style = "default",
        function_style: Style = "default", rankdir: str = "TB", remove_variable: bool = False, show_name: bool = True,
    ) -> None:  # fmt: skip
        if rankdir not in ("TB", "BT", "LR", "RL"):
            raise ValueError("rankdir must be in TB, BT, LR or RL.")
        self.nodes = nodes
        self.edges = edges
        self.variable_style = _style(variable_style, _VARIABLE_STYLE)
        self.function_style = _style(function_style, _FUNCTION_STYLE)
        self.rankdir = rankdir
        self.remove_variable = remove_variable
        self.show_name = show_name

    def dump(self, format: str = "dot") -> str:
        """The graph as text; the format is "dot" (NotImplementedError for another)."""
        if format != "dot":
            raise NotImplementedError("Currently, only dot format is supported.")
        nodes = [node for node in self.nodes if not (self.remove_variable and isinstance(node, VariableNode))]
        edges = self._between_functions() if self.remove_variable else self.edges
        lines = dict.fromkeys(f"{id(head)} -> {id(tail)};" for head, tail in edges)
        return f"digraph graphname{{rankdir={self.rankdir};{''.join(map(self._line, nodes))}{''.join(lines)}}}"

    def _line(self, node: Node) -> str:
        if isinstance(node, VariableNode):
            label = f"{node.name}: {node.label}" if self.show_name and node.name is not None else node.label
            attributes = {"label": label, "shape": "oval"} | self.variable_style
        else:
            attributes = {"label": node.label, "shape": "box"} | self.function_style
        listed = ",".join(f'{key}="{value}"' for key, value in attributes.items())
        return f"{id(node)} [{listed}];"

    def _between_functions(self) -> Iterable[tuple[Node, Node]]:
        for head, tail in self.edges:
            if isinstance(head, VariableNode) and head.creator_node is not None:
                yield head.creator_node, tail


def build_computational_graph(
    outputs: Any, remove_split: bool = True, variable_style: Style = "default", function_style: Style = "default",
    rankdir: str = "TB", remove_variable: bool = False, show_name: bool = True,
) -> ComputationalGraph:  # fmt: skip
    """The graph from which some Variables, nodes or functions come; see `ComputationalGraph` for the arguments.

    Args:
        outputs: one of them or a list.
        remove_split: has to be True (ValueError).
    """
    if not remove_split:
        raise ValueError("remove_split=False is not supported anymore")
    starts = outputs if isinstance(outputs, Sequence) else [outputs]
    nodes: dict[Node, None] = {}
    edges: dict[tuple[Node, Node], None] = {}
    pending: list[tuple[int, int, Node]] = []

    def add(node: Node) -> None:
        if node not in nodes:
            nodes[node] = None
            heapq.heappush(pending, (-node.rank, len(nodes), node))

    for start in starts:
        if not isinstance(start, (Variable, VariableNode, FunctionNode)):
            raise TypeError(f"outputs must be Variables, VariableNodes or FunctionNodes, got {type(start)}")
        add(start.node if isinstance(start, Variable) else start)
    while pending:
        node = heapq.heappop(pending)[-1]
        sources: Iterable[Node | None] = node.inputs if isinstance(node, FunctionNode) else [node.creator_node]
        for source in sources:
            if source is not None:
                add(source)
                edges[source, node] = None
    style = (variable_style, function_style, rankdir, remove_variable, show_name)
    return ComputationalGraph(list(nodes), list(edges), *style)
