"""`Block.save` and `Block.load`: the parameters of a block, and the graphs of the hybridized blocks in it."""

import json
from typing import Any

from anygru.errors import CheckpointError
from anygru.extend import Budget, open_bytes, open_for_replace, parse_json

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
    try:
        (entry,) = parse_json(open_bytes(path, budget), budget).values()
        _restore(block, entry)
    except (CheckpointError, OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise MXNetError(f"{path}: {error}") from error
    block.load_parameters(f"{prefix}-model.params")


def _restore(block: Any, entry: dict[str, Any]) -> dict[str, str]:
    """Restore the graphs of a block. Returns the saved names and the present names of its parameters.

    The children are visited in their order. They get their saved keys, which occur in the file of parameters.
    """
    names = {f"{entry['orig_name']}_{name.removeprefix(block.params.prefix)}": name for name in block.params}
    below = [value for key, value in entry.items() if key not in _FACTS]
    children = list(block._children.values())
    block._children.clear()
    for child, described in zip(children, below, strict=True):
        block._children[entry["children"][described["orig_name"]]] = child
        names.update(_restore(child, described))
    if "symbol" in entry:
        inputs = [symbol.load_json(text) for text in entry["inputs"]]
        output = symbol.load_json(entry["symbol"])
        own = {name: symbol.var(names[name]) for name in output.list_inputs() if name in names}
        block._active = True
        block._cached_graph = (inputs, output.compose(own))
        block._in_format, block._out_format = entry["in_format"], entry["out_format"]
    return names
