"""Paddle's `.pdparams` and `.pdopt`: pickles of `paddle.save` 2.x and of `save_dygraph` 1.8.

A state dictionary is {name: array} with a table from these names to the parameters' names under
`StructuredToParameterName@@`; any other object has each tensor as the tuple (name, array). Protocols 2 and 3 cut arrays
of 1 GiB and more in slices.
"""

import math
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import CheckpointError
from ..layout import PARTS, CheckpointLayout
from ..output.atomic import open_for_replace
from ..output.pickling import dump
from ..reading.budget import Budget
from ..reading.content import Content, EntryMark, Progress, plain_problem, texts_of
from ..reading.source import plain_values, shown
from ..reading.unpickle import RestrictedUnpickler
from ..stored import StoredTensor, map_leaves

NESTED = True
SUFFIXES = (".pdparams", ".pdopt", ".pdtensor")

NAME_TABLE = "StructuredToParameterName@@"
"""The key of the table from the names in the file to the names of the parameters."""
SLICE_TABLE = "UnpackBigParamInfor@@"
"""The key of the table of arrays that were cut in slices, to be joined again."""
_DTYPES = {
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
}  # fmt: skip
SLICE_BYTES = (1 << 30) - 1
"""Protocols below 4 hold arrays up to this many bytes in one piece."""

_STACKED: dict[str, Any] = {part: (f"{part}_l{{layer}}{{direction}}",) for part in PARTS}
_CELL: dict[str, Any] = {part: (part,) for part in PARTS}
_OLD_CELL: dict[str, Any] = {part: (f"_{part}",) for part in PARTS}

LAYOUT = (
    CheckpointLayout(
        name="paddle.nn.GRU",
        cell=False,
        **_STACKED,
        directions=("", "_reverse"),
        # the layer's state dictionary also has every tensor under the name that its cells give it
        aliases=(
            tuple(f"{{layer}}.cell.{part}" for part in PARTS),
            tuple(f"{{layer}}.cell_{{side}}.{part}" for part in PARTS),
        ),
        # the same names as torch's; torch's LSTM with a projection can have a GRU's shapes
        forbidden=("weight_hr_l{layer}{direction}", "gain_hh_l{layer}{direction}"),
    ),
    CheckpointLayout(name="paddle.nn.GRUCell", cell=True, **_CELL, forbidden=("gain_hh",)),
    # fluid.dygraph.rnn.GRUCell(use_cudnn_impl=True) and (use_cudnn_impl=False)
    CheckpointLayout(name="paddle.fluid.dygraph.rnn.GRUCell", cell=True, always_biased=True, **_OLD_CELL),
    CheckpointLayout(
        name="paddle.fluid.dygraph.rnn.GRUCell(use_cudnn_impl=False)", cell=True, weight_ih=("_gate_weight",),
        weight_hh=("_candidate_weight",), bias_ih=("_gate_bias",), bias_hh=("_candidate_bias",), reset="before",
        concatenated=True, always_biased=True,
    ),
)  # fmt: skip

_UNIT_NAME = re.compile(r"gru(_unit)?_\d+\.w_\d+")
_UNIT_NOTE = "a GRUUnit with origin_mode=False: another layer projects its input, here by the identity"


def _lod_tensor(source: object, variables: object = None) -> Any:
    """The pickled form of a static graph's tensor: eval("data", {"data": array}). No code is evaluated here."""
    if source != "data" or not isinstance(variables, dict) or not isinstance(variables.get("data"), np.ndarray):
        raise ValueError("a call of eval that is not Paddle's way to write a tensor")
    return variables["data"]


_ALLOWED = {("builtins", "eval"): _lod_tensor, ("__builtin__", "eval"): _lod_tensor}


def load(path: str | os.PathLike[str], budget: Budget | None = None) -> Any:
    """Read a file of `paddle.save` in its pickled form.

    Args:
        path: the file.
        budget: counts the memory that is made; None: the usual one.

    Returns:
        Nested dicts, lists, tuples and plain values with NumPy arrays. A state dictionary has its name table under
        `NAME_TABLE` (where Paddle wrote one); tensors elsewhere are tuples (name, array). Slices are joined.

    Raises:
        CheckpointError: the file is not a pickle, is damaged, or contains more than data.
    """
    reader = RestrictedUnpickler(path, _ALLOWED, budget=budget or Budget(path))
    value = reader.load()
    if isinstance(value, dict) and SLICE_TABLE in value:
        _join_slices(value, reader.where, reader.budget)
    return value


def save(obj: object, path: str | os.PathLike[str], protocol: int = 4, progress: Progress | None = None) -> None:
    """Write nested dicts and lists of NumPy arrays and plain values so that `paddle.load` reads them.

    Args:
        obj: written unchanged; Paddle's name table or (name, array) tuples must be part of it.
        path: the file, replaced in one step.
        protocol: 2, 3 or 4; below 4, arrays of 1 GiB and more at the top level of a dict are cut in slices.
        progress: called with the bytes written.

    Raises:
        TypeError: a value that is not data.
        ValueError: another protocol.
    """
    if protocol in (2, 3) and isinstance(obj, dict):
        obj = _cut_slices(obj)
    with open_for_replace(path, progress=progress) as file:
        dump(obj, file, protocol)


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes may be Paddle's: a pickle of protocol 2 to 4 of no other format."""
    return len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 4


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a file for people and for conversion; see `load` for Paddle's own form."""
    tree = load(path, budget)
    table = tree.pop(NAME_TABLE, {}) if isinstance(tree, dict) else {}
    names = texts_of(table) if isinstance(table, dict) else {}
    stored = _store(tree, os.fspath(path), budget)
    marks = as_cells(stored, names, budget) if isinstance(stored, dict) else {}
    return Content(stored, marks, parameter_names=names)


def as_cells(found: dict[Any, Any], names: Mapping[str, str], budget: Budget) -> dict[str, EntryMark]:
    """Replace the tensors of each `GRUUnit` of Paddle 1.x, in place, by a cell with the identity as its input's weights.

    Args:
        found: tensors by name; tensors of units are replaced.
        names: the parameters' own names, by the tensor's name: a unit without a bias is found by these alone.
        budget: counts the new matrices.

    Returns:
        A note for each unit, by its name.

    Source: `gru_unit_op` of Paddle 1.8: the memory of the weight [H, 3H] holds [H, 2H] for update and reset, then [H, H].
    """
    marks = {}
    for name in [name for name in found if isinstance(name, str) and name.endswith(("weight", ".w_0"))]:
        path, _, end = name.rpartition(".")
        weight, bias_name = found[name], f"{name.removesuffix(end)}{'b_0' if end == 'w_0' else 'bias'}"
        if not isinstance(weight, StoredTensor) or weight.dtype not in ("float16", "float32", "float64"):
            continue
        size, bias = weight.shape[0] if weight.shape else 0, found.get(bias_name)
        biased = isinstance(bias, StoredTensor) and (bias.shape, bias.dtype) == ((1, 3 * size), weight.dtype)
        named = bias is None and _UNIT_NAME.fullmatch(names.get(name, name))
        if size and weight.shape == (size, 3 * size) and (biased or named):
            budget.take(12 * weight.nbytes)
            values = bias.values.reshape(-1) if bias is not None else np.zeros(3 * size, weight.values.dtype)
            for key in (name, bias_name):
                found.pop(key, None)
            for part, array in _cell(weight.values, values).items():
                found[f"{path}.{part}" if path else part] = StoredTensor.of(array)
            marks[path] = EntryMark(notes=(_UNIT_NOTE,))
    return marks


def _cell(weight: np.ndarray, bias: np.ndarray) -> dict[str, np.ndarray]:
    """The parameters of fluid.dygraph.rnn.GRUCell(use_cudnn_impl=False) of a unit's weight [H, 3H] and bias [3H]."""
    size, flat = len(weight), weight.reshape(-1)
    gates, node = flat[: 2 * size * size].reshape(size, 2 * size), flat[2 * size * size :].reshape(size, size)
    update, reset, node = np.split(np.concatenate([np.eye(3 * size, dtype=flat.dtype), np.hstack([gates, node])]), 3, 1)
    of_update, of_reset, of_node = np.split(bias, 3)
    # The new state is (1 - u) h + u n in a unit and u h + (1 - u) n in a cell: 1 - sigmoid(a) is sigmoid(-a).
    return {
        "_gate_weight": np.hstack([reset, -update]),
        "_candidate_weight": np.ascontiguousarray(node),
        "_gate_bias": np.concatenate([of_reset, -of_update]),
        "_candidate_bias": of_node,
    }


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write a tree; parameter names that are known go into Paddle's name table."""
    tree = map_leaves(content.tree, lambda leaf: leaf.values if isinstance(leaf, StoredTensor) else leaf)
    if isinstance(tree, dict):
        table = {key: name for key, name in content.parameter_names.items() if key in tree}
        tree = {**tree, NAME_TABLE: table} if table else tree
    save(tree, path, progress=progress)


def problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written, or None."""
    if isinstance(leaf, StoredTensor):
        return None if leaf.dtype in _DTYPES else f"Paddle has no dtype {leaf.dtype}"
    return plain_problem(leaf)


def _store(tree: object, where: str, budget: Budget) -> Any:
    """Turn arrays, and tuples (name, array), into `StoredTensor`; Paddle uses uint16 only for the bits of bfloat16."""

    def change(leaf: object) -> Any:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufc":
            return StoredTensor(leaf, "bfloat16") if leaf.dtype == np.uint16 else StoredTensor.of(leaf)
        if isinstance(leaf, np.ndarray):
            return plain_values(leaf, where, budget)
        if isinstance(leaf, tuple):
            return change(leaf[1])
        return leaf.item() if isinstance(leaf, np.generic) else leaf

    return map_leaves(tree, change, _is_named_tensor)


def _is_named_tensor(value: object) -> bool:
    return (
        isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], np.ndarray)
    )


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


def _join_slices(state: dict[Any, Any], where: str, budget: Budget) -> None:
    """Join sliced arrays; each slice is used once, so that the result is not larger than the file."""
    table = state.pop(SLICE_TABLE)
    if not isinstance(table, dict):
        raise CheckpointError(f"{where}: {SLICE_TABLE} is a {type(table).__name__}, expected a dict")
    for key, entry in table.items():
        place = f"{where}: {SLICE_TABLE}[{shown(key)}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("slices"), list | tuple) or key in state:
            raise CheckpointError(f"{place}: expected a dict with the names of slices, for a key not in the file yet")
        slices = []
        for name in entry["slices"]:
            if not isinstance(name, str) or not isinstance(state.get(name), np.ndarray):
                raise CheckpointError(
                    f"{place}: the slice {shown(name)} is not an array in this file, or is referenced twice"
                )
            slices.append(state.pop(name))
        if len({part.dtype for part in slices}) > 1:
            raise CheckpointError(f"{place}: the slices have several dtypes")
        budget.take(sum(part.nbytes for part in slices))
        try:
            state[key] = np.concatenate(slices).reshape(_shape(entry))
        except ValueError as error:
            raise CheckpointError(f"{place}: the slices do not make up the array: {error}") from error


def _shape(entry: dict[Any, Any]) -> tuple[int, ...]:
    shape = entry.get("OriginShape")
    if not isinstance(shape, list | tuple) or not all(type(axis) is int for axis in shape):
        raise ValueError("the shape is not a tuple of integers")
    return tuple(shape)
