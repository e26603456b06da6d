"""`Block.save` and `Block.load`: the parameters of a block, and the graphs of the hybridized blocks in it."""

import json
from typing import Any

from anygru.checkpoints.atomic import open_for_replace

from ...base import MXNetError
from ...symbol import symbol


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
            key = f"{type(child).__name__.lower()}{count}"
            entry[key] = described(child)
        return entry

    with open_for_replace(f"{prefix}-model.json") as file:
        file.write(json.dumps({block.name: described(block)}).encode())
    block.save_parameters(f"{prefix}-model.params")


def load(block: Any, prefix: str) -> None:
    """Take the parameters and the graphs from the files of `save`, into a block of the same structure.

    Raises:
        MXNetError: for a missing or damaged file.
    """
    try:
        with open(f"{prefix}-model.json", encoding="utf-8") as file:
            (entry,) = json.load(file).values()
        _restore(block, entry)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise MXNetError(f"{prefix}-model.json: {error}") from error
    block.load_parameters(f"{prefix}-model.params")


def _restore(block: Any, entry: dict[str, Any]) -> None:
    known = {"orig_name", "children", "hybridized", "in_format", "out_format", "inputs", "symbol"}
    below = {value["orig_name"]: value for key, value in entry.items() if key not in known}
    for name, attribute in entry["children"].items():
        _restore(block._children[attribute], below[name])
    if "symbol" in entry:
        inputs = [symbol.load_json(text) for text in entry["inputs"]]
        block._active = True
        block._cached_graph = (inputs, _renamed(symbol.load_json(entry["symbol"]), entry["orig_name"], block.prefix))
        block._in_format, block._out_format = entry["in_format"], entry["out_format"]


def _renamed(output: Any, before: str, prefix: str) -> Any:
    """A graph whose parameters have the names of the block that takes it over."""
    names = [name for name in output.list_inputs() if name.startswith(before + "_")]
    return output.compose({name: symbol.var(prefix + name[len(before) + 1 :]) for name in names})
