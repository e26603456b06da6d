"""The content of a checkpoint: every format's `read` returns it and `write` takes it."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from ...errors import CheckpointError
from ...facts.entries import ActivationName
from ..stored import StoredTensor, flat_name, walk
from .budget import Budget
from .source import shown

Progress = Callable[[int], None]
"""Called with the number of bytes that have been written since the last call."""

ACTIVATIONS = get_args(ActivationName)
_FORMULA: dict[str, tuple[str, ...]] = {
    "reset": ("after", "before"), "gate_activation": ACTIVATIONS, "activation": ACTIVATIONS, "zoneout": (),
    "direction": ("forward", "reverse"),
}  # fmt: skip
"""The keys of a formula in a file's metadata, and the allowed values of some."""
_PROBABILITY = re.compile(r"0?\.\d{1,20}|[01](?:\.0)?|\d(?:\.\d{1,20})?e-\d{1,2}")


@dataclass(frozen=True)
class EntryMark:
    """Metadata of a GRU in a file, other than its tensors.

    Attributes:
        formula: reset, gate_activation, activation and zoneout, if given and not the default.
        reverse: the only direction reads each sequence from its last step to its first.
        batch_first: the layer takes batches first.
        problem: why the layer cannot be computed; empty if it can.
        notes: important facts for the reader.
        covers: it also applies to each GRU below it without its own mark.
    """

    formula: Mapping[str, str] = field(default_factory=dict)
    reverse: bool = False
    batch_first: bool = False
    problem: str = ""
    notes: tuple[str, ...] = ()
    covers: bool = False

    @classmethod
    def of_metadata(cls, entries: Mapping[Any, Any]) -> "EntryMark":
        """Read anygru's entries in a file's metadata; an entry of another kind or value is a problem."""
        for key, value in entries.items():
            choices = _FORMULA.get(key) if isinstance(key, str) else None
            known = isinstance(value, str) and (not choices or value in choices)
            if choices is None or not known or (key == "zoneout" and not _PROBABILITY.fullmatch(value)):
                return cls(problem=f"its formula has {shown(key)}: {shown(value)}, which is not known to anygru")
        formula = {key: value for key, value in entries.items() if key != "direction"}
        return cls(formula, reverse=entries.get("direction") == "reverse")

    def metadata(self) -> dict[str, str]:
        """Give the entries that `of_metadata` reads."""
        return {**self.formula, **({"direction": "reverse"} if self.reverse else {})}


@dataclass
class Content:
    """A checkpoint without its file.

    Attributes:
        tree: nested dicts, lists and tuples with `StoredTensor` tensors and plain values as leaves.
        marks: the metadata of GRUs, by the layer's name.
        metadata: texts of the file (safetensors has them).
        parameter_names: Paddle's own names of the parameters, by the tensor's name.
        places: where a file of HDF5 holds the values of a tensor in one piece, by its name: the first byte (in a `.keras`
            archive, of the member), and NumPy's name of the dtype.
        files: the names of other files that hold values, from the folder of the file (ONNX's external data).
    """

    tree: Any
    marks: dict[str, EntryMark] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    parameter_names: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, str]] = field(default_factory=dict)
    files: tuple[str, ...] = ()


_PER_ENTRY = 160
"""Bytes of an entry of a dict, without the text of its key."""


def flatten(tree: object, where: str, budget: Budget | None = None) -> dict[str, Any]:
    """Return the leaves of a tree by their flat names.

    Args:
        tree: nested dicts and lists.
        where: the file's name for errors.
        budget: counts the names, and each tensor's values again for each further use, since a program that copies or
            writes the tensors copies them each time.

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
            raise CheckpointError(f"{where}: the name {name!r} names two values, in different containers")
        flat[name] = leaf
    return flat


def texts_of(mark: Mapping[Any, Any]) -> dict[str, str]:
    """Return the texts by name in a table from a file; other values are ignored."""
    return {key: value for key, value in mark.items() if isinstance(key, str) and isinstance(value, str)}


def plain_problem(leaf: object) -> str | None:
    """Return the reason why a value other than a tensor cannot be pickled, or None."""
    if leaf is None or isinstance(leaf, bool | int | float | complex | str | bytes):
        return None
    if isinstance(leaf, list | tuple | set | frozenset):
        return next((reason for part in leaf if (reason := plain_problem(part))), None)
    return f"a {type(leaf).__name__} is no plain value"
