"""`Block.save` and `Block.load`: the parameters of a block, and the graphs of the hybridized blocks in it."""

import json
from collections.abc import Callable
from typing import Any

from anygru.errors import CheckpointError
from anygru.extend import Budget, open_bytes, open_for_replace, parse_json, shown

from ...base import MXNetError
from ...symbol import symbol

# The keys of a block's entry, without its children's.
_FACTS = {"orig_name", "children", "hybridized", "in_format", "out_format", "inputs", "symbol"}


def _key(block: Any, number: int) -> str:
    return f"{type(block).__name__.lower()}{number}"


def save(block: Any, prefix: str) -> None:
    """Write `prefix-model.json` and `prefix-model.params`, in MXNet's form."""
    count = 0

    def described(one: Any) -> dict[str, Any]:
        nonlocal count
        entry: dict[str, Any] = {"orig_name": one.name}
        children = one._children
        if hasattr(one, "_cached_graph"):
            entry["hybridized"] = bool(one._cached_graph)
        if getattr(one, "_cached_graph", ()):
            inputs, output = one._cached_graph
            entry.update(in_format=one._in_format, out_format=one._out_format)
            entry.update(inputs=[part.tojson() for part in inputs], symbol=output.tojson())
        entry["children"] = {child.name: name for name, child in children.items()}
        for child in children.values():
            count += 1
            key = _key(child, count)
            entry[key] = described(child)
        return entry

    with open_for_replace(f"{prefix}-model.json") as file:
        file.write(json.dumps({_key(block, 0): described(block)}).encode())
    block.save_parameters(f"{prefix}-model.params")


def load(block: Any, prefix: str) -> None:
    """Read the parameters and the graphs from the files of `save` into a block of the same structure.

    Raises:
        MXNetError: for a missing or damaged file.
    """
    path = f"{prefix}-model.json"
    budget = Budget(path)
    changes: list[Callable[[], None]] = []
    try:
        (entry,) = parse_json(open_bytes(path, budget), budget).values()
        _restore(block, entry, changes)
    except (MXNetError, CheckpointError, OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise MXNetError(f"{path}: {error}") from error
    for change in changes:  # a damaged file changes nothing
        change()
    block.load_parameters(f"{prefix}-model.params")


def _restore(block: Any, entry: dict[str, Any], changes: list[Callable[[], None]]) -> dict[str, str]:
    """Read the graphs of a block, and add what is to be changed. Returns the saved and present names of its parameters.

    The children are visited in their order. They get their saved keys, which occur in the file of parameters.
    """
    names = {f"{entry['orig_name']}_{name.removeprefix(block.params.prefix)}": name for name in block.params}
    below = [value for key, value in entry.items() if key not in _FACTS]
    children: dict[str, Any] = {}
    for child, described in zip(block._children.values(), below, strict=True):
        key = entry["children"][described["orig_name"]]
        if not isinstance(key, str) or key in children:
            raise ValueError(f"the name of a child must be a text that no other child has, got {shown(key)}")
        children[key] = child
        names.update(_restore(child, described, changes))
    graph: dict[str, Any] = {}
    if "symbol" in entry:
        inputs = [symbol.load_json(text) for text in entry["inputs"]]
        output = symbol.load_json(entry["symbol"])
        own = {name: symbol.var(names[name]) for name in output.list_inputs() if name in names}
        graph = {"_active": True, "_cached_graph": (inputs, output.compose(own))}
        graph.update(_in_format=entry["in_format"], _out_format=entry["out_format"])

    def change() -> None:
        block._children.clear()
        block._children.update(children)
        for name, value in graph.items():
            setattr(block, name, value)

    changes.append(change)
    return names
