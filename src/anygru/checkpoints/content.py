"""What every format's `read` gives and `write` takes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import CheckpointError
from .stored import flat_name, walk

__all__ = ["Content", "Progress", "flatten", "plain_problem"]

#: Called with the number of bytes that have been written since the last call.
Progress = Callable[[int], None]


@dataclass
class Content:
    """A checkpoint without its file.

    Attributes:
        tree: nested dicts, lists and tuples whose leaves are `Stored` tensors and plain values.
        marks: formulas of GRUs that their tensors do not tell, by the layer's name: {"reset": "before"}.
        metadata: texts beside the tensors (safetensors has them).
        parameter_names: Paddle's own names of the parameters, by the tensor's name.
    """

    tree: Any
    marks: dict[str, dict[str, str]] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    parameter_names: dict[str, str] = field(default_factory=dict)


def flatten(tree: object, where: str) -> dict[str, Any]:
    """Give the leaves of a tree by their flat names.

    Raises:
        CheckpointError: two leaves have the same flat name.
    """
    flat: dict[str, Any] = {}
    for path, leaf in walk(tree):
        name = flat_name(path)
        if name in flat:
            raise CheckpointError(f"{where}: the name {name!r} stands for two values, in different containers")
        flat[name] = leaf
    return flat


def plain_problem(leaf: object) -> str | None:
    """Say why a value that is no tensor cannot go into a pickle, or None if it can."""
    if leaf is None or isinstance(leaf, bool | int | float | complex | str | bytes):
        return None
    if isinstance(leaf, list | tuple | set | frozenset):
        return next((reason for part in leaf if (reason := plain_problem(part))), None)
    return f"a {type(leaf).__name__} is no plain value"
