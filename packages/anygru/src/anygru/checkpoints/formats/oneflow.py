"""OneFlow's saved state: the folder of `oneflow.save` 0.7 to 0.9, its older form, and the single file of 1.0.

The folder holds `pickled_data`, a pickle of {"protocol_version": 1, "data": object} in which each tensor is only a
reference, and for each tensor a folder `tensor_N` with `out` (the values' bytes) and `meta` (shape and dtype as
protobuf text). The single file has the same pickle with the values inside. The form before 0.7 is a folder of such
tensor folders, named after the variables, and an empty file `snapshot_done`.
"""

import contextlib
import itertools
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CheckpointError
from ..layout import PARTS, CheckpointLayout
from ..output.atomic import open_for_replace, sync_folder
from ..output.pickling import Global, PickledCall, dump
from ..reading.budget import Budget
from ..reading.content import Content, Progress, plain_problem
from ..reading.pickle_tree import Pending
from ..reading.source import array_from, open_bytes, plain_values, shown
from ..reading.unpickle import RestrictedUnpickler
from ..stored import BITS, StoredTensor, map_leaves

NESTED = True
SUFFIXES = ("",)

_STACKED: dict[str, Any] = {part: (f"{part}_l{{layer}}{{direction}}",) for part in PARTS}
_CELL: dict[str, Any] = {part: (part,) for part in PARTS}

LAYOUT = (
    CheckpointLayout(
        name="oneflow.nn.GRU", cell=False, **_STACKED, directions=("", "_reverse"),
        forbidden=("weight_hr_l{layer}{direction}", "gain_hh_l{layer}{direction}"),
    ),
    CheckpointLayout(name="oneflow.nn.GRUCell", cell=True, **_CELL, forbidden=("gain_hh",)),
)  # fmt: skip

FOLDER_HEAD = b"\0folder\0"
"""The head of a folder in the registry: this prefix, and the names in the folder."""

PICKLE_NAME, VALUES_NAME, META_NAME, OLD_MARK = "pickled_data", "out", "meta", "snapshot_done"
PROTOCOL_VERSION = 1

_DTYPES = [
    ("kFloat", "float32"), ("kDouble", "float64"), ("kInt8", "int8"), ("kInt32", "int32"), ("kInt64", "int64"),
    ("kUInt8", "uint8"), ("kFloat16", "float16"), ("kBool", "bool"), ("kUInt16", "uint16"), ("kUInt32", "uint32"),
    ("kUInt64", "uint64"), ("kInt16", "int16"), ("kComplex64", "complex64"), ("kComplex128", "complex128"),
]  # fmt: skip
"""OneFlow's dtypes: the name in `meta`, and NumPy's."""
_BY_META = {name: np.dtype(dtype) for name, dtype in _DTYPES} | {"kBFloat16": np.dtype("uint16")}
_META_OF = {np.dtype(dtype): name for name, dtype in _DTYPES}

_LONGEST_META = 4096
"""The longest description of a tensor: 32 axes have less than a third of it."""
_META_WORD = re.compile(r"\w+|[{}]|[^\s:,]", re.ASCII)
_TENSOR_FOLDER = re.compile(r"(global_)?tensor_\d{1,18}")

_numbers = itertools.count(1)
"""Numbers tensors across all files of this process, as OneFlow does."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a saved state: its values, and whether the uint16 in there are the bits of bfloat16."""

    array: np.ndarray
    bfloat16: bool = False


class Parameter(Tensor):
    """A tensor that was an `oneflow.nn.Parameter`."""


def load(
    path: str | os.PathLike[str], allowed: Mapping[tuple[str, str], Any] | None = None, budget: Budget | None = None
) -> Any:
    """Read a folder of `oneflow.save`.

    Args:
        path: the folder, or the single file of OneFlow 1.0.
        allowed: classes that the pickle may name in addition to tensors and containers, as for `RestrictedUnpickler`: a reader of
            whole modules gives its own classes here.
        budget: counts the memory that is made; None: the usual one.

    Returns:
        The saved object, with `Tensor` and `Parameter` for tensors. The form before 0.7 gives {name: Tensor}.

    Raises:
        CheckpointError: a part is missing, damaged, leads out of the folder, or names something that is not allowed.
    """
    folder = Path(path)
    budget = budget or Budget(path)
    if not folder.is_dir():
        return _load_pickle(folder, None, allowed, budget)
    # links are refused, also broken ones
    if os.path.lexists(folder / PICKLE_NAME):
        _refuse_link(folder / PICKLE_NAME)
        return _load_pickle(folder / PICKLE_NAME, folder, allowed, budget)
    if (folder / OLD_MARK).exists():
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        return {name: Tensor(*_read_tensor(folder, name, budget)) for name in names}
    raise CheckpointError(f"{path}: a folder without {PICKLE_NAME} or {OLD_MARK} is not a saved state of OneFlow")


def save(
    obj: object,
    path: str | os.PathLike[str],
    convert: Callable[[Any], PickledCall | Global | Tensor | None] | None = None,
    progress: Progress | None = None,
    numbers: Iterator[int] | None = None,
) -> None:
    """Write an object as a folder that `oneflow.load` reads.

    The tensors get folders that were not there before; then `pickled_data` is replaced in one step, so that the folder
    holds the old state until it holds the new one. Folders of older states stay, as OneFlow leaves them.

    Args:
        obj: nested containers and plain values with `Tensor` and `Parameter` (arrays are pickled as NumPy's).
        path: the folder, created with its parents if missing.
        convert: called first with each value; returns a `Tensor`, another value to pickle, or None.
        progress: called with the bytes of tensors written.
        numbers: of the tensors' folders; None: counted up from 1 in each process, as OneFlow does.

    Raises:
        TypeError: a value that is not data, or a dtype that OneFlow lacks.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    references: dict[int, tuple[Any, PickledCall]] = {}  # with the tensors, which so keep their numbers

    def reference(value: object) -> PickledCall | Global | None:
        if id(value) in references:
            return references[id(value)][1]
        node = convert(value) if convert is not None else None
        tensor = node if isinstance(node, Tensor) else value
        if not isinstance(tensor, Tensor):
            return node if isinstance(node, PickledCall | Global) else None
        written.append(_new_tensor_folder(folder, _numbers if numbers is None else numbers))
        _write_tensor(written[-1], tensor, progress)
        kind = Global("oneflow.nn", "Parameter") if isinstance(tensor, Parameter) else Global("oneflow", "Tensor")
        call = PickledCall(kind, (), {"path": written[-1].name}, new=True)
        references[id(value)] = (value, call)
        return call

    try:
        with open_for_replace(folder / PICKLE_NAME) as file:
            dump({"protocol_version": PROTOCOL_VERSION, "data": obj}, file, 4, reference)
            sync_folder(folder)
    except BaseException:
        for leftover in written:
            shutil.rmtree(leftover, ignore_errors=True)
        raise


def recognise(head: bytes) -> bool:
    """Return whether a file, by its first bytes, or a folder, by its list of names, is OneFlow's."""
    if head.startswith(FOLDER_HEAD):
        names = head.split(b"\0")
        return PICKLE_NAME.encode() in names or OLD_MARK.encode() in names
    return head[:1] == b"\x80" and b"protocol_version" in head[:64]


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a saved state for people and for conversion."""

    def stored(leaf: object) -> Any:
        if isinstance(leaf, Tensor):
            return StoredTensor(leaf.array, "bfloat16" if leaf.bfloat16 else leaf.array.dtype.name)
        if isinstance(leaf, np.ndarray):
            return StoredTensor.of(leaf) if leaf.dtype.kind in "biufc" else plain_values(leaf, os.fspath(path), budget)
        return leaf.item() if isinstance(leaf, np.generic) else leaf

    return Content(map_leaves(load(path, budget=budget), stored))


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write a tree as a folder."""

    def tensor(leaf: object) -> Any:
        if not isinstance(leaf, StoredTensor):
            return None
        return Tensor(leaf.values, leaf.dtype == "bfloat16")

    # numbers that no other state has, so that this one can be moved into a folder with others
    save(content.tree, path, tensor, progress, itertools.count(secrets.randbelow(10**17)))


def put_in_place(written: Path, folder: Path) -> None:
    """Move the files that `write` wrote to a separate folder into another folder: its tensors first, then the index.

    Until the index is replaced the folder holds its old state. Tensors of older states stay, as OneFlow leaves them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for tensor in written.iterdir():
        if tensor.name != PICKLE_NAME:
            os.rename(tensor, folder / tensor.name)
    sync_folder(folder)
    os.replace(written / PICKLE_NAME, folder / PICKLE_NAME)
    sync_folder(folder)


def problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written, or None."""
    if isinstance(leaf, StoredTensor):
        known = leaf.dtype == "bfloat16" or (leaf.dtype not in BITS and leaf.values.dtype in _META_OF)
        return None if known else f"OneFlow has no dtype {leaf.dtype}"
    return plain_problem(leaf)


def _load_pickle(path: Path, folder: Path | None, allowed: Mapping[tuple[str, str], Any] | None, budget: Budget) -> Any:
    read: dict[str, tuple[np.ndarray, bool]] = {}

    def tensor_in(name: str) -> tuple[np.ndarray, bool]:
        """Read a tensor's folder, once for all references to it."""
        if folder is None:
            raise ValueError("a tensor in a folder, in a file without a folder")
        if not _TENSOR_FOLDER.fullmatch(name):
            raise ValueError(f"a tensor in {shown(name)}, expected a folder tensor_N in the folder of the pickle")
        if name not in read:
            read[name] = _read_tensor(folder, name, budget)
        return read[name]

    def pending(kind: type[Tensor]) -> Callable[[], Pending]:
        return lambda: _PendingTensor(kind, tensor_in)

    known: dict[tuple[str, str], Any] = {
        ("oneflow", "Tensor"): pending(Tensor),
        ("oneflow._oneflow_internal", "Tensor"): pending(Tensor),
        ("oneflow.nn", "Parameter"): pending(Parameter),
        ("oneflow.nn.parameter", "Parameter"): pending(Parameter),
        ("oneflow._oneflow_internal", "dtype"): _PendingDtype,
        **(allowed or {}),
    }
    saved = RestrictedUnpickler(path, known, where=os.fspath(path), budget=budget).load()
    if not isinstance(saved, dict) or "data" not in saved:
        raise CheckpointError(f"{path}: the pickle has no 'data', as OneFlow's saved states have")
    version = saved.get("protocol_version")
    if version != PROTOCOL_VERSION:
        raise CheckpointError(f"{path}: protocol_version must be {PROTOCOL_VERSION}, got {shown(version)}")
    return saved["data"]


class _PendingDtype(Pending):
    """A dtype, with its number as its state; the values have the same dtype."""

    def build(self, state: object) -> str:
        return f"oneflow dtype {shown(state)}"


class _PendingTensor(Pending):
    """A tensor with its folder or its values as its state."""

    def __init__(self, kind: type[Tensor], tensor_in: Callable[[str], tuple[np.ndarray, bool]]):
        super().__init__()
        self._kind, self._tensor_in = kind, tensor_in

    def build(self, state: object) -> Tensor:
        if not isinstance(state, dict):
            raise ValueError("a tensor without its state")
        name, data = state.get("path"), state.get("data")
        if isinstance(data, np.ndarray):
            return self._kind(data)
        if isinstance(name, str):
            return self._kind(*self._tensor_in(name))
        raise ValueError("a tensor with neither a folder nor values")


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise CheckpointError(f"{path}: a symbolic link, which could lead out of the saved state")


def _read_tensor(folder: Path, name: str, budget: Budget) -> tuple[np.ndarray, bool]:
    """Return the values in a tensor's folder, and whether they are bfloat16."""
    values, meta = folder / name / VALUES_NAME, folder / name / META_NAME
    for part in (folder / name, values, meta):
        _refuse_link(part)
    data = open_bytes(meta, budget)
    if len(data) > _LONGEST_META:
        raise CheckpointError(f"{meta}: {len(data)} bytes for a shape and a dtype")
    shape, kind = _parse_meta(str(data, "latin-1"), meta)
    return array_from(open_bytes(values, budget), _BY_META[kind], shape, str(values), budget), kind == "kBFloat16"


def _parse_meta(text: str, meta: Path) -> tuple[tuple[int, ...], str]:
    """Return the shape and the name of the dtype in a description, word by word: each is looked at once."""
    words = _META_WORD.findall(text)
    shape: list[int] = []
    if words[:2] == ["shape", "{"] and "}" in words:
        end = words.index("}")
        axes, words = words[2:end], words[end + 1 :]
        if len(axes) % 2 or any(word != "dim" for word in axes[::2]) or not all(map(_is_axis, axes[1::2])):
            raise CheckpointError(f"{meta}: byte 0: a shape that is not a list of 'dim: N'")
        shape = [int(word) for word in axes[1::2]]
    if len(words) != 2 or words[0] != "data_type" or words[1] not in _BY_META:
        raise CheckpointError(f"{meta}: byte 0: expected 'shape {{ dim: N ... }} data_type: kName' with a known dtype")
    return tuple(shape), words[1]


def _is_axis(word: str) -> bool:
    return word.isdecimal() and len(word) <= 18


def _new_tensor_folder(folder: Path, numbers: Iterator[int]) -> Path:
    while True:
        candidate = folder / f"tensor_{next(numbers)}"
        with contextlib.suppress(FileExistsError):
            candidate.mkdir()
            return candidate


def _write_tensor(folder: Path, tensor: Tensor, progress: Progress | None) -> None:
    array = np.asarray(tensor.array, order="C")
    name = "kBFloat16" if tensor.bfloat16 else _META_OF.get(array.dtype)
    if name is None:
        raise TypeError(f"OneFlow has no dtype {array.dtype}")
    with open_for_replace(folder / VALUES_NAME, progress=progress) as file:
        if array.size:
            file.write(array.reshape(-1).view(np.uint8).data)
    dims = "".join(f"  dim: {axis}\n" for axis in array.shape)
    with open_for_replace(folder / META_NAME, "w") as file:
        file.write(f"shape {{\n{dims}}}\ndata_type: {name}\n")
