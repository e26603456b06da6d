"""The content of a checkpoint: every format's `read` returns it and `write` takes it."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import CheckpointError
from ..stored import StoredTensor, flat_name, walk
from .budget import Budget

Progress = Callable[[int], None]
"""Called with the number of bytes that have been written since the last call."""


@dataclass
class Content:
    """A checkpoint without its file.

    Attributes:
        tree: nested dicts, lists and tuples whose leaves are `StoredTensor` tensors and plain values.
        marks: formulas of GRUs that their tensors do not tell, by the layer's name: {"reset": "before"}.
        metadata: texts beside the tensors (safetensors has them).
        parameter_names: Paddle's own names of the parameters, by the tensor's name.
    """

    tree: Any
    marks: dict[str, dict[str, str]] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    parameter_names: dict[str, str] = field(default_factory=dict)


_PER_ENTRY = 160
"""Bytes of an entry of a dict, beside the text of its key."""


def flatten(tree: object, where: str, budget: Budget | None = None) -> dict[str, Any]:
    """Return the leaves of a tree by their flat names.

    Args:
        tree: nested dicts and lists.
        where: the file's name for errors.
        budget: counts the names, and each tensor's values again where it comes a second time: a program that copies or
            writes the tensors makes them again, too.

    Raises:
        CheckpointError: two leaves have the same flat name, or the budget is spent.
    """
    flat: dict[str, Any] = {}
    seen: set[int] = set()
    for path, leaf in walk(tree):
        name = flat_name(path)
        if budget is not None:
            budget.take(_PER_ENTRY + sys.getsizeof(name))
            if isinstance(leaf, StoredTensor) and id(leaf.values) in seen:
                budget.take(leaf.nbytes)
            elif isinstance(leaf, StoredTensor):
                seen.add(id(leaf.values))
        if name in flat:
            raise CheckpointError(f"{where}: the name {name!r} stands for two values, in different containers")
        flat[name] = leaf
    return flat


def texts_of(mark: Mapping[Any, Any]) -> dict[str, str]:
    """Return the texts by name in a formula from a file; anything else in it has no meaning there."""
    return {key: value for key, value in mark.items() if isinstance(key, str) and isinstance(value, str)}


def plain_problem(leaf: object) -> str | None:
    """Say why a value that is no tensor cannot go into a pickle, or None if it can."""
    if leaf is None or isinstance(leaf, bool | int | float | complex | str | bytes):
        return None
    if isinstance(leaf, list | tuple | set | frozenset):
        return next((reason for part in leaf if (reason := plain_problem(part))), None)
    return f"a {type(leaf).__name__} is no plain value"
