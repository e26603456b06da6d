"""Paddle's `.pdparams` and `.pdopt`: pickles of `paddle.save` 2.x and of `save_dygraph` 1.8.

A state dictionary is {name: array} with a table from these names to those of the parameters under
`StructuredToParameterName@@`; any other object has each tensor as the tuple (name, array). Protocols 2 and 3 cut arrays
of 1 GiB and more in slices.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from grus.checkpoints.atomic import open_for_replace
from grus.checkpoints.pickling import dump
from grus.checkpoints.unpickle import RestrictedUnpickler
from grus.errors import CheckpointError

__all__ = ["NAME_TABLE", "SLICE_TABLE", "load", "save"]

#: The key of the table from the names in the file to the names of the parameters.
NAME_TABLE = "StructuredToParameterName@@"
#: The key of the table of arrays that were cut in slices, to be joined again.
SLICE_TABLE = "UnpackBigParamInfor@@"
#: Protocols below 4 hold arrays up to this many bytes in one piece.
SLICE_BYTES = (1 << 30) - 1


def _lod_tensor(source: Any, variables: Any = None) -> Any:
    """What a static graph's tensor is pickled as: eval("data", {"data": array}). Nothing is evaluated here."""
    if source != "data" or not isinstance(variables, dict) or not isinstance(variables.get("data"), np.ndarray):
        raise ValueError("a call of eval that is not Paddle's way to write a tensor")
    return variables["data"]


_ALLOWED = {("builtins", "eval"): _lod_tensor, ("__builtin__", "eval"): _lod_tensor}


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `paddle.save` wrote, as Paddle pickled it.

    Args:
        path: the file.

    Returns:
        Nested dicts, lists, tuples and plain values with NumPy arrays. A state dictionary has its name table under
        `NAME_TABLE` (where Paddle wrote one); tensors elsewhere are tuples (name, array). Slices are joined.

    Raises:
        CheckpointError: the file is no pickle, damaged, or holds more than data.
    """
    reader = RestrictedUnpickler(path, _ALLOWED)
    value = reader.load()
    if isinstance(value, dict) and SLICE_TABLE in value:
        _join_slices(value, reader.where)
    return value


def save(obj: Any, path: str | os.PathLike[str], protocol: int = 4) -> None:
    """Write nested dicts and lists of NumPy arrays and plain values so that `paddle.load` reads them.

    Args:
        obj: written as it is; whoever wants Paddle's name table or (name, array) tuples puts them in.
        path: the file, replaced in one step.
        protocol: 2, 3 or 4; below 4, arrays of 1 GiB and more at the top level of a dict are cut in slices.

    Raises:
        TypeError: a value that is no data.
        ValueError: another protocol.
    """
    if protocol in (2, 3) and isinstance(obj, dict):
        obj = _cut_slices(obj)
    with open_for_replace(path) as file:
        dump(obj, file, protocol)


def _cut_slices(state: dict[Any, Any]) -> dict[Any, Any]:
    cut: dict[Any, Any] = {}
    table: dict[Any, Any] = {}
    for key, value in state.items():
        if not isinstance(value, np.ndarray) or value.nbytes <= SLICE_BYTES:
            cut[key] = value
            continue
        flat = value.reshape(-1)
        length = SLICE_BYTES // value.itemsize
        names = [f"{key}@@.{number}" for number in range(math.ceil(flat.size / length))]
        table[key] = {"OriginShape": value.shape, "slices": names}
        for number, name in enumerate(names):
            cut[name] = flat[number * length : (number + 1) * length]
    if table:
        cut[SLICE_TABLE] = table
    return cut


def _join_slices(state: dict[Any, Any], where: str) -> None:
    """Put arrays together that were cut; each slice serves once, so that the result is no larger than the file."""
    table = state.pop(SLICE_TABLE)
    if not isinstance(table, dict):
        raise CheckpointError(f"{where}: {SLICE_TABLE} is a {type(table).__name__}, expected a dict")
    for key, entry in table.items():
        place = f"{where}: {SLICE_TABLE}[{key!r}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("slices"), list | tuple) or key in state:
            raise CheckpointError(f"{place}: expected a dict with the names of slices, for a key not in the file yet")
        slices = []
        for name in entry["slices"]:
            if not isinstance(name, str) or not isinstance(state.get(name), np.ndarray):
                raise CheckpointError(f"{place}: the slice {name!r} is no array of the file, or serves twice")
            slices.append(state.pop(name))
        try:
            state[key] = np.concatenate(slices).reshape(entry.get("OriginShape"))
        except (ValueError, TypeError) as error:
            raise CheckpointError(f"{place}: the slices do not make up the array: {error}") from error
