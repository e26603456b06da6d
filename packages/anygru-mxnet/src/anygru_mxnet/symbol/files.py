"""Symbol files: graphs in MXNet's JSON. Every number is checked when a file is read."""

import json
from typing import Any

from anygru.errors import CheckpointError
from anygru.extend import PER_OBJECT, Budget, Bytes, open_bytes, open_for_replace, parse_json, shown

from ..base import MXNetError
from ..state import state
from .node import Entry, Node, operator_named, topological

_MOST_OUTPUTS = 1 << 16
"""The largest number of outputs of an operator that a file may contain."""
_VERSION = 10901  # MXNet 1.9.1, the version of this format


def to_json(heads: list[Entry]) -> str:
    """The graph of the heads as text."""
    attrs = {**({"is_np_shape": ("int", 1)} if state.numpy else {}), "mxnet_version": ("int", _VERSION)}
    return _text({**_record(heads), "attrs": attrs}, 0)


def _record(heads: list[Entry]) -> dict[str, Any]:
    nodes = topological(node for node, _ in heads)
    numbers = {id(node): number for number, node in enumerate(nodes)}
    rows = [0]
    for node in nodes:
        rows.append(rows[-1] + node.counted())
    return {
        "nodes": [_node(node, numbers) for node in nodes],
        "arg_nodes": [number for number, node in enumerate(nodes) if node.operator is None],
        "node_row_ptr": rows,
        "heads": [(numbers[id(node)], index, 0) for node, index in heads],
    }


def _text(value: Any, depth: int) -> str:
    """JSON in MXNet's layout, so that a graph has the same bytes as in MXNet.

    A tuple, a dict of up to one member, and a list of up to ten members without a dict are written in one line.
    """
    if isinstance(value, tuple) or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        members = [
            f"{json.dumps(key, ensure_ascii=False)}: {_text(member, depth + 1)}" for key, member in value.items()
        ]
        short = len(value) <= 1
    else:
        members = [_text(member, depth + 1) for member in value]
        short = len(value) <= 10 and not any(isinstance(member, dict) for member in value)
    begin, end = "{}" if isinstance(value, dict) else "[]"
    if short:
        return begin + ", ".join(members) + end
    margin = "\n" + "  " * depth
    return f"{begin}{margin}  " + f", {margin}  ".join(members) + f"{margin}{end}"


def _node(node: Node, numbers: dict[int, int]) -> dict[str, Any]:
    record: dict[str, Any] = {"op": "null" if node.operator is None else node.operator.name, "name": node.name}
    if node.attrs:
        record["attrs"] = node.attrs
    record["inputs"] = [(numbers[id(below)], index, 0) for below, index in node.inputs]
    if node.graphs:
        record["subgraphs"] = [_record(heads) for heads in node.graphs]
    return record


def save(path: str, text: str) -> None:
    """Write a symbol's text to a temporary file, and rename it to the target."""
    with open_for_replace(path) as file:
        file.write(text.encode())


def load(path: str) -> list[Entry]:
    """The heads of the graph in a file.

    Raises:
        TypeError: for a path that is not a string.
        MXNetError: for a missing or damaged file.
    """
    if not isinstance(path, str):
        raise TypeError("fname need to be string")
    budget = Budget(path)
    try:
        return _graph(open_bytes(path, budget), budget)
    except CheckpointError as error:
        raise MXNetError(str(error)) from error
    except MXNetError as error:
        raise MXNetError(f"{path}: {error}") from error


def from_json(text: str) -> list[Entry]:
    """The heads of the graph in a text.

    Raises:
        MXNetError: for a text that is not a graph, and for unknown operators.
    """
    data = text.encode("utf-8", "surrogatepass")
    budget = Budget("the symbol's JSON")
    budget.add_file(len(data))
    try:
        return _graph(data, budget)
    except CheckpointError as error:
        raise MXNetError(str(error)) from error


def _graph(data: Bytes, budget: Budget) -> list[Entry]:
    """The heads of the graph in the bytes of a file."""
    try:
        return _heads(parse_json(data, budget), budget)
    except CheckpointError:
        raise
    except RecursionError as error:
        raise MXNetError("not a symbol of MXNet: its loops are nested too deeply") from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise MXNetError(f"not a symbol of MXNet: {type(error).__name__}: {error}") from error


def _heads(content: dict[str, Any], budget: Budget) -> list[Entry]:
    nodes: list[Node] = []
    for number, record in enumerate(content["nodes"]):
        budget.take(4 * PER_OBJECT)
        nodes.append(_read_node(record, number, nodes, budget))
    return [_entry(head, nodes, "heads") for head in content["heads"]]


def _read_node(record: dict[str, Any], number: int, before: list[Node], budget: Budget) -> Node:
    # Before MXNet 1.0 the key of the attributes was "attr" or "param".
    attrs = record.get("attrs", record.get("attr", record.get("param", {})))
    if not all(isinstance(key, str) and isinstance(value, str) for key, value in attrs.items()):
        raise MXNetError(f"node {number}: attributes must be texts")
    inputs = [_entry(entry, before, f"node {number}") for entry in record["inputs"]]
    operator = None if record["op"] == "null" else operator_named(record["op"], attrs)
    graphs = [_heads(graph, budget) for graph in record.get("subgraphs", ())]
    node = Node(operator, str(record["name"]), attrs, inputs, graphs)
    if operator is None:
        return node
    if not operator.variadic and not len(operator.required) <= len(inputs) <= len(operator.inputs):
        raise MXNetError(f"node {number} ({node.name}): {operator.name} cannot have {len(inputs)} inputs")
    if not 0 < node.outputs() <= _MOST_OUTPUTS:  # parses the attributes
        raise MXNetError(f"node {number} ({node.name}): it has {node.outputs()} outputs, expected 1 to {_MOST_OUTPUTS}")
    for _ in node.wires():
        """Raises an error if the graphs do not fit the attributes."""
    return node


def _entry(entry: Any, nodes: list[Node], where: str) -> Entry:
    if not isinstance(entry, list) or len(entry) not in (2, 3):
        raise MXNetError(f"{where}: an entry is [node, output] or [node, output, version]")
    number, index = entry[0], entry[1]
    if not (isinstance(number, int) and isinstance(index, int) and 0 <= number < len(nodes)):
        raise MXNetError(f"{where}: {shown(number)}, {shown(index)} is not an output of an earlier node")
    if not 0 <= index < nodes[number].outputs():
        raise MXNetError(f"{where}: node {number} has {nodes[number].outputs()} outputs, not {index + 1}")
    return nodes[number], index
