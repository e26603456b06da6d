"""MXNet's NDArray files: `.params` of Gluon and of the symbol API, and other files of `nd.save`.

All integers are little-endian. The file: u64 0x112, u64 0, u64 number of arrays, the arrays, u64 number of names (0 for
a list), each name as u64 length and bytes. An array of MXNet 1.x: u32 magic, i32 storage type, shape, i32 device type
and number, i32 dtype, data; shape is i32 ndim and ndim i64. Before 1.0 there was no storage type, and before 0.11 no
magic: the u32 was ndim, and axes were u32. NumPy's shape semantics allow 0-d arrays and axes of 0; otherwise an array
without axes was never filled.
"""

import io
import math
import os
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, TypeAlias

import numpy as np

from ...errors import CheckpointError
from ..layout import CheckpointLayout
from ..output.atomic import open_for_replace
from ..reading.budget import PER_OBJECT, Budget
from ..reading.content import Content, Progress, flatten
from ..reading.source import Bytes, Cursor, array_from, count_elements, open_bytes, shown
from ..stored import StoredTensor, holder

NESTED = False
LISTS = True
SUFFIXES = (".params", ".nd")

FILE_MAGIC = 0x112
WIDE_AXES, STORAGE_TYPES, NUMPY_SHAPES = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
"""Magic numbers of an array, oldest first: with 64-bit axes; with a storage type; under NumPy's shape semantics."""

DTYPES = [
    "float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool", "int16", "uint16", "uint32", "uint64", "bfloat16",
]  # fmt: skip
"""The dtypes' names, by their number in MXNet."""

_SCOPE = "._:/"
_PARTS = {"weight_ih": "i2h_weight", "weight_hh": "h2h_weight", "bias_ih": "i2h_bias", "bias_hh": "h2h_bias"}

_OF_PARAMETER = re.compile(r"_(?:weight|bias|gamma|beta|alpha|running_mean|running_var|parameters|const)$")
_BY_PARAMETER = "mxnet.gluon.rnn.GRU (parameters' names)"
"""The styles of files with names of parameters, "encoder_gru0_l0_i2h_weight"."""
_CELL_BY_PARAMETER = "mxnet.gluon.rnn.GRUCell (parameters' names)"

Values: TypeAlias = "np.ndarray | StoredTensor"
"""The dtypes of arrays; bfloat16 needs a `StoredTensor`, since NumPy lacks it."""


def _named(form: str) -> dict[str, Any]:
    return {part: (form + name,) for part, name in _PARTS.items()}


def _unpacked(form: str) -> dict[str, Any]:
    return {part: tuple(form + name.replace("_", f"_{gate}_") for gate in "rzo") for part, name in _PARTS.items()}


LAYOUT = (
    # Block.save_parameters, one direction and two
    CheckpointLayout(
        name="mxnet.gluon.rnn.GRU", cell=False, **_named("_unfused.{layer}."), always_biased=True, sides=(1,),
        separators=_SCOPE,
    ),
    CheckpointLayout(
        name="mxnet.gluon.rnn.GRU", cell=False, **_named("_unfused.{layer}.{direction}_cell."),
        directions=("l", "r"), sides=(2,), always_biased=True, separators=_SCOPE,
    ),
    # ParameterDict.save, export, and save_parameters before 1.5
    CheckpointLayout(
        name=_BY_PARAMETER, cell=False, **_named("{direction}{layer}_"), directions=("l", "r"), separators="_.:/",
        always_biased=True,
    ),
    CheckpointLayout(name="mxnet.gluon.rnn.GRUCell", cell=True, always_biased=True, **_named(""), separators=".:/"),
    CheckpointLayout(name=_CELL_BY_PARAMETER, cell=True, always_biased=True, **_named(""), separators="_"),
    # the symbol API's cells: unpack_weights() gives a tensor for each gate
    CheckpointLayout(
        name="mxnet.rnn.FusedRNNCell", cell=False, **_unpacked("{direction}{layer}_"), directions=("l", "r"),
        separators="_.:/", always_biased=True,
    ),
    CheckpointLayout(name="mxnet.rnn.GRUCell", cell=True, always_biased=True, **_unpacked(""), separators="_.:/"),
)  # fmt: skip

_DENSE, _ROW_SPARSE, _CSR = 0, 1, 2
_INDEX_ARRAYS = {_DENSE: 0, _ROW_SPARSE: 1, _CSR: 2}
"""Storage type -> how many index arrays come with the data."""

_SMALLEST_ARRAY = 4
"""The smallest array: a magic and an empty shape."""


def load(path: str | os.PathLike[str], budget: Budget | None = None) -> list[np.ndarray] | dict[str, np.ndarray]:
    """Read a file of `nd.save`, `save_parameters`, `ParameterDict.save` or `export`.

    Args:
        path: the file.
        budget: counts the memory that is made; None: the usual one.

    Returns:
        A dict by the file's names (`arg:` and `aux:` of exported ones kept), or a list for a file without names (also
        for an empty dict). Sparse arrays are made dense, bfloat16 becomes float32.

    Raises:
        CheckpointError: the file is damaged or no NDArray file.
    """
    budget = budget or Budget(path)
    return _as_numpy(parse(open_bytes(path, budget), os.fspath(path), budget))


def loads(data: Bytes, budget: Budget | None = None) -> list[np.ndarray] | dict[str, np.ndarray]:
    """Read the same from bytes."""
    if budget is None:
        budget = Budget("NDArray bytes")
        budget.add_file(len(data))
    return _as_numpy(parse(data, "NDArray bytes", budget))


def save(
    path: str | os.PathLike[str], arrays: Sequence[Values] | Mapping[str, Values], progress: Progress | None = None
) -> None:
    """Write arrays as `nd.save` does, byte for byte; the file is replaced in one step.

    Args:
        path: the file.
        arrays: a list, or a dict by name, of arrays with a dtype in `DTYPES`. If one has no
            axes, or an axis of 0, the file gets NumPy's shape semantics, which MXNet reads under `npx.set_np()`.
        progress: called with the bytes written.

    Raises:
        TypeError: a dtype that MXNet lacks, or a value that is not an array.
    """
    with open_for_replace(path, progress=progress) as file:
        _write(file, arrays)


def dumps(arrays: Sequence[Values] | Mapping[str, Values]) -> bytes:
    """Give the same as bytes."""
    file = io.BytesIO()
    _write(file, arrays)
    return file.getvalue()


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is an NDArray file."""
    return head[:8] == struct.pack("<Q", FILE_MAGIC)


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a file for people and for conversion."""
    return Content(parse(open_bytes(path, budget), os.fspath(path), budget))


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write tensors by their flat names (a list of tensors without names)."""

    named = not isinstance(content.tree, list)
    save(path, flatten(content.tree, os.fspath(path)) if named else content.tree, progress)


def problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written, or None."""
    if not isinstance(leaf, StoredTensor):
        return "MXNet's files hold arrays only"
    return None if leaf.dtype in DTYPES else f"MXNet has no dtype {leaf.dtype}"


def preferred_styles(path: str, others: Sequence[str]) -> tuple[str, ...]:
    """The styles for a GRU among other tensors: MXNet takes a file without any dot for one of the parameters' own names.

    Such names end in the kind of the parameter; a tensor "w" belongs to a block with layers, which need names with dots.
    """
    names = bool(others) and all("." not in name and _OF_PARAMETER.search(name) for name in others)
    return (_BY_PARAMETER, _CELL_BY_PARAMETER) if path and "." not in path and names else ()


def note(names: Iterable[str]) -> str:
    """Return the call of MXNet that reads a file with these names."""
    if any("." in name for name in names):
        return "names of blocks' attributes: MXNet's Block.load_parameters reads them"
    return (
        "names without dots are taken for the parameters' own: MXNet's collect_params().load and mx.nd.load read them; "
        "Block.load_parameters does where they are those of collect_params()"
    )


def parse(data: Bytes, where: str, budget: Budget) -> list[StoredTensor] | dict[str, StoredTensor]:
    """Read the arrays of a file: a list where they have no names."""
    cursor = Cursor(data, where)
    magic = cursor.number("Q", "the file's magic number")
    if magic != FILE_MAGIC:
        cursor.fail(f"the file's magic number is {magic:#x}, expected {FILE_MAGIC:#x}", 0)
    cursor.number("Q", "the reserved word")
    count = cursor.number("Q", "the number of arrays")
    if count > cursor.remaining // _SMALLEST_ARRAY:
        cursor.fail(f"{count} arrays cannot be in the {cursor.remaining} bytes that are left")
    arrays = [_read_array(cursor, f"array {number}", budget) for number in range(count)]
    names = _read_names(cursor, count, budget)
    if cursor.remaining:
        cursor.fail(f"{cursor.remaining} bytes follow the end of the file's content")
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _as_numpy(arrays: list[StoredTensor] | dict[str, StoredTensor]) -> list[np.ndarray] | dict[str, np.ndarray]:
    if isinstance(arrays, dict):
        return {name: array.widened() for name, array in arrays.items()}
    return [array.widened() for array in arrays]


def _read_array(cursor: Cursor, what: str, budget: Budget) -> StoredTensor:
    """Read one array; a sparse one is made dense."""
    budget.take(PER_OBJECT)
    magic = cursor.number("I", f"the magic number of {what}")
    storage = _DENSE
    if magic in (STORAGE_TYPES, NUMPY_SHAPES):
        storage = cursor.number("i", f"the storage type of {what}")
        if storage not in _INDEX_ARRAYS:
            cursor.fail(f"{what} has the storage type {storage}, known are {sorted(_INDEX_ARRAYS)}")
    stored_shape = _read_shape(cursor, what) if storage != _DENSE else ()
    if magic in (WIDE_AXES, STORAGE_TYPES, NUMPY_SHAPES):
        shape = _read_shape(cursor, what, unknown_allowed=magic == NUMPY_SHAPES)
    else:
        # the oldest files: the magic number is the number of axes
        shape = tuple(_read_axes(cursor, magic, "I", what))
    if shape is None or (not shape and magic != NUMPY_SHAPES):
        return StoredTensor.of(np.zeros((0,), np.float32))
    cursor.take(8, f"the device of {what}")
    dtype = _read_dtype(cursor, what)
    if storage == _DENSE:
        return StoredTensor(_read_values(cursor, dtype, shape, what, budget), dtype)
    indices = []
    for number in range(_INDEX_ARRAYS[storage]):
        index_dtype = _read_dtype(cursor, f"index {number} of {what}")
        indices.append((index_dtype, _read_shape(cursor, f"index {number} of {what}") or ()))
    values = _read_values(cursor, dtype, stored_shape or (), what, budget)
    index_arrays = [_read_values(cursor, kind, axes, f"an index of {what}", budget) for kind, axes in indices]
    place = f"{cursor.where}: {what}"
    # the dense array, and the indices as int64 with the comparisons of the checks
    budget.take(count_elements(shape, place) * values.itemsize + 32 * sum(index.size for index in index_arrays))
    dense = _unfold_rows if storage == _ROW_SPARSE else _unfold_csr
    return StoredTensor(dense(values, index_arrays, shape, place), dtype)


def _read_shape(cursor: Cursor, what: str, unknown_allowed: bool = False) -> tuple[int, ...] | None:
    count = cursor.number("i", f"the number of axes of {what}")
    if count == -1 and unknown_allowed:
        return None
    return tuple(_read_axes(cursor, count, "q", what))


def _read_axes(cursor: Cursor, count: int, code: str, what: str) -> list[int]:
    if not 0 <= count <= 32:
        cursor.fail(f"{what} has {count} axes; at most 32 are possible, or this is not an NDArray")
    axes = [cursor.number(code, f"the shape of {what}") for _ in range(count)]
    if any(axis < 0 for axis in axes):
        cursor.fail(f"{what} has the shape {tuple(axes)}")
    return axes


def _read_dtype(cursor: Cursor, what: str) -> str:
    number = cursor.number("i", f"the dtype of {what}")
    if not 0 <= number < len(DTYPES):
        cursor.fail(f"{what} has dtype number {number}, known are 0 to {len(DTYPES) - 1}")
    return DTYPES[number]


def _read_values(cursor: Cursor, name: str, shape: tuple[int, ...], what: str, budget: Budget) -> np.ndarray:
    dtype = holder(name)
    size = count_elements(shape, f"{cursor.where}: {what}") * dtype.itemsize
    data = cursor.take(size, f"the data of {what}, shape {shape} of {dtype},")
    return array_from(data, dtype, shape, f"{cursor.where}: {what}", budget)


def _unfold_rows(values: np.ndarray, indices: list[np.ndarray], shape: tuple[int, ...], place: str) -> np.ndarray:
    rows = indices[0]
    fits = rows.ndim == 1 and len(shape) > 0 and values.shape == (len(rows), *shape[1:])
    if not fits or not _all_within(rows, shape[0]):
        raise CheckpointError(f"{place}: rows {values.shape} at indices {rows.shape} do not fit into {shape}")
    dense = np.zeros(shape, values.dtype)
    dense[rows.astype(np.int64)] = values
    return dense


def _unfold_csr(values: np.ndarray, indices: list[np.ndarray], shape: tuple[int, ...], place: str) -> np.ndarray:
    starts, columns = indices
    fits = (
        len(shape) == 2
        and values.ndim == starts.ndim == columns.ndim == 1
        and len(values) == len(columns)
        and len(starts) == shape[0] + 1
        and _all_within(columns, shape[1])
        and starts[0] == 0
        and starts[-1] == len(columns)
        and bool((np.diff(starts.astype(np.int64)) >= 0).all())
    )
    if not fits:
        raise CheckpointError(f"{place}: the indices of the sparse matrix do not fit its shape {shape}")
    dense = np.zeros(shape, values.dtype)
    lengths = np.diff(starts.astype(np.int64)).astype(np.int64)
    dense[np.repeat(np.arange(shape[0]), lengths), columns.astype(np.int64)] = values
    return dense


def _all_within(indices: np.ndarray, limit: int) -> bool:
    return indices.dtype.kind in "iu" and bool(((indices >= 0) & (indices < limit)).all())


def _read_names(cursor: Cursor, arrays: int, budget: Budget) -> list[str]:
    count = cursor.number("Q", "the number of names")
    if count not in (0, arrays):
        cursor.fail(f"{count} names for {arrays} arrays")
    names: dict[str, None] = {}
    for number in range(count):
        data = cursor.take(cursor.number("Q", f"the length of name {number}"), f"name {number}")
        try:
            name = str(data, "utf-8")
        except UnicodeDecodeError:
            cursor.fail(f"name {number} is not UTF-8 text")
        budget.take(PER_OBJECT + 4 * len(data))
        if name in names:
            cursor.fail(f"the name {shown(name)} occurs twice")
        names[name] = None
    return list(names)


def _write(file: IO[bytes], arrays: Sequence[Values] | Mapping[str, Values]) -> None:
    names = list(arrays) if isinstance(arrays, Mapping) else []
    stored = [_stored(value) for value in (arrays.values() if isinstance(arrays, Mapping) else arrays)]
    file.write(struct.pack("<QQQ", FILE_MAGIC, 0, len(stored)))
    # one file has one kind of shapes: MXNet refuses the other kind, whichever is switched on
    numpy_shapes = any(not array.values.size or not array.shape for array in stored)
    for array in stored:
        _write_array(file, array, NUMPY_SHAPES if numpy_shapes else STORAGE_TYPES)
    file.write(struct.pack("<Q", len(names)))
    for name in names:
        data = name.encode()
        file.write(struct.pack("<Q", len(data)) + data)


def _stored(value: Values) -> StoredTensor:
    if not isinstance(value, (np.ndarray, StoredTensor)):
        raise TypeError(f"an NDArray file holds arrays, got a {type(value).__name__}")
    stored = value if isinstance(value, StoredTensor) else StoredTensor.of(value)
    if stored.dtype not in DTYPES:
        raise TypeError(f"MXNet has no dtype {stored.dtype}; it has {', '.join(DTYPES)}")
    return stored


def _write_array(file: IO[bytes], stored: StoredTensor, magic: int) -> None:
    values = stored.values
    file.write(struct.pack(f"<Iii{values.ndim}q", magic, _DENSE, values.ndim, *values.shape))
    file.write(struct.pack("<iii", 1, 0, DTYPES.index(stored.dtype)))
    if math.prod(values.shape):
        plain = np.asarray(values, values.dtype.newbyteorder("<"), order="C")
        file.write(plain.reshape(-1).view(np.uint8).data)
