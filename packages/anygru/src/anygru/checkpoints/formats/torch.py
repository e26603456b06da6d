"""torch's `.pt` and `.pth`: files of `torch.save` with a state_dict or a checkpoint dictionary.

Since torch 1.6 that is a zip archive with `NAME/data.pkl`, a pickle in which each tensor refers to a storage, and the
storages as members `NAME/data/KEY`. Before, it was five pickles in a row and then the storages. Both are read with the
restricted unpickler, which accepts tensors, storages and plain values: less than torch's `weights_only=True`. Tensors
are views of the file, and every offset, size and stride is checked against the storage that is really there.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import CheckpointError
from ...facts.entries import FORMULA_MARK
from ..layout import PARTS, CheckpointLayout
from ..output.atomic import open_for_replace
from ..reading.archive import Archive
from ..reading.budget import Budget
from ..reading.content import Content, EntryMark, Progress, plain_problem
from ..reading.source import count_elements, empty_array, open_bytes, plain_values, read_regular, shown, usable
from ..reading.unpickle import RestrictedUnpickler
from ..stored import BITS, Path, StoredTensor, flat_name, holder, map_leaves

NESTED = True
SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")

_STACKED: dict[str, Any] = {part: (f"{part}_l{{layer}}{{direction}}",) for part in PARTS}
_CELL: dict[str, Any] = {part: (part,) for part in PARTS}
_OTHERS = ("weight_hr_l{layer}{direction}", "gain_hh_l{layer}{direction}")
"""With these names it is an LSTM with a projection, or a GRU with layer norm."""

LAYOUT = (
    CheckpointLayout(name="torch.nn.GRU", cell=False, **_STACKED, directions=("", "_reverse"), forbidden=_OTHERS),
    CheckpointLayout(name="torch.nn.GRUCell", cell=True, **_CELL, forbidden=("gain_hh",)),
)

MARKED_LAYOUT = (
    CheckpointLayout(
        name="anygru.GRU", cell=False, **_STACKED, directions=("", "_reverse"), forbidden=_OTHERS, reset="before",
        marked=True,
    ),
    CheckpointLayout(name="anygru.GRUCell", cell=True, **_CELL, forbidden=("gain_hh",), reset="before", marked=True),
)  # fmt: skip
"""The same names with another formula, given by the file's metadata."""

_OLD_HEAD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""The first number of the format before torch 1.6, in pickled form."""
_OLD_PROTOCOL = 1001

_STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}  # fmt: skip
_DTYPES = {*_STORAGES.values(), *BITS, "uint16", "uint32", "uint64"}


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is torch's."""
    if head[:4] == b"PK\x03\x04" and len(head) > 30:
        name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
        return b"/" in name and not name.endswith(b".npy")
    return head.startswith(_OLD_HEAD)


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a file without torch's help and without a copy of a large one.

    Raises:
        CheckpointError: the file is damaged, contains a whole module or another object that is not data, or a
            TorchScript program.
    """
    if read_regular(path, len(_OLD_HEAD)) == _OLD_HEAD:
        return _read_old(path, budget)
    with Archive(path, budget) as archive:
        return _read_zip(archive, budget)


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write a tree with `torch.save`; formulas go into the `_metadata` of the outermost state_dict."""
    import torch

    tree = map_leaves(content.tree, lambda leaf: leaf.tensor() if isinstance(leaf, StoredTensor) else leaf)
    if content.marks and isinstance(tree, dict):
        tree = OrderedDict(tree)
        tree._metadata = {path: {FORMULA_MARK: mark.metadata()} for path, mark in content.marks.items()}  # type: ignore[attr-defined]
    with open_for_replace(path, progress=progress) as file:
        torch.save(tree, file)


def problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written, or None."""
    if isinstance(leaf, StoredTensor):
        return None if leaf.dtype in _DTYPES else f"torch has no dtype {leaf.dtype}"
    return plain_problem(leaf)


def _finish(tree: object, where: str, budget: Budget) -> Any:
    """Convert the other values of a pickle to tensors and plain values; tied containers stay tied."""

    def leaf(value: object) -> Any:
        if isinstance(value, np.ndarray):
            return StoredTensor.of(value) if value.dtype.kind in "biufc" else plain_values(value, where, budget)
        if isinstance(value, np.generic):
            return value.item()
        return value.name if isinstance(value, _Dtype) else value

    return map_leaves(tree, leaf)


class _Dtype:
    """Represents torch.float32 and other dtypes."""

    def __init__(self, name: str):
        self.name = name


class _Storage:
    """The bytes of a storage."""

    def __init__(self, data: memoryview, dtype: str | None):
        self.data, self.dtype = data, dtype


def _strided(
    storage: object, offset: object, size: object, stride: object, dtype: str | None, place: str, budget: Budget
) -> StoredTensor:
    """View a part of a storage as a tensor.

    Raises:
        CheckpointError: the view reaches outside of the storage, or unfolds to more than the budget.
    """
    if not isinstance(storage, _Storage):
        raise CheckpointError(f"{place}: a tensor without a storage")
    name = dtype or storage.dtype
    if name is None or name not in _DTYPES:
        raise CheckpointError(f"{place}: a tensor of unknown dtype {shown(name)}")
    plain = holder(name)
    if not isinstance(size, tuple) or not isinstance(stride, tuple) or len(stride) != len(size):
        raise CheckpointError(f"{place}: sizes and strides do not fit together")
    count = count_elements(size, place)
    if type(offset) is not int or not all(
        type(number) is int and 0 <= number < 1 << 62 for number in (offset, *stride)
    ):
        raise CheckpointError(f"{place}: an offset or a stride is not a number from 0 on")
    if count == 0:
        return StoredTensor(empty_array(size, plain, place), name)
    last = offset + sum((axis - 1) * step for axis, step in zip(size, stride, strict=True))
    held = len(storage.data) // plain.itemsize
    # a view of stride 0 takes no memory here, but its full size when it is copied or written
    budget.take(count * plain.itemsize)
    if last >= held:
        raise CheckpointError(f"{place}: a tensor reaches element {shown(last)} of a storage of {held}")
    values = np.frombuffer(storage.data, plain, held)
    steps = tuple(step * plain.itemsize for step in stride)
    view = np.lib.stride_tricks.as_strided(values[offset:], size, steps)
    return StoredTensor(usable(view, storage.data, budget), name)


def _tensor(where: str, budget: Budget) -> Callable[..., StoredTensor]:
    def rebuild(storage: object, offset: object, size: object, stride: object, *others: object) -> StoredTensor:
        return _bits(_strided(storage, offset, size, stride, None, where, budget), others[2:], budget)

    return rebuild


def _typed_tensor(where: str, budget: Budget) -> Callable[..., StoredTensor]:
    def rebuild(storage: object, offset: object, size: object, stride: object, *others: object) -> StoredTensor:
        if len(others) < 3 or not isinstance(others[2], _Dtype):
            raise ValueError("a tensor without its dtype")
        return _bits(_strided(storage, offset, size, stride, others[2].name, where, budget), others[3:], budget)

    return rebuild


_BITS = {"neg": np.negative, "conj": np.conjugate}
"""Operations that torch records for a view instead of computing them, such as `x.conj()`."""


def _bits(tensor: StoredTensor, metadata: tuple[object, ...], budget: Budget) -> StoredTensor:
    """A tensor with its metadata applied; unknown entries are refused, since they could change its values."""
    noted = metadata[0] if metadata else None
    if not isinstance(noted, dict | None) or len(metadata) > 1:
        raise ValueError("a tensor with metadata that is not a dict")
    for key, on in (noted or {}).items():
        if key not in _BITS or tensor.values.dtype.kind not in "fc":
            raise ValueError(f"a tensor of {tensor.dtype} with {shown(key)} in its metadata, which is not known")
        if on:
            budget.take(tensor.nbytes)
            tensor = StoredTensor(_BITS[key](tensor.values), tensor.dtype)
    return tensor


def _first(value: object, *unused: object) -> Any:
    """A parameter is its tensor."""
    return value


def _size(axes: object = ()) -> tuple[Any, ...]:
    if not isinstance(axes, tuple | list):
        raise ValueError("a size that is not made from numbers")
    return tuple(axes)


def _device(kind: object, index: object = None) -> str:
    if not isinstance(kind, str) or not (index is None or type(index) is int):
        raise ValueError("a device without a name, or with a number that is none")
    return kind if index is None else f"{kind}:{index}"


def _known_names(where: str, budget: Budget) -> dict[tuple[str, str], Any]:
    """The names that a pickle of torch may use in addition to arrays and containers."""
    return {
        **{("torch", kind): _Dtype(dtype) for kind, dtype in _STORAGES.items()},
        **{("torch", dtype): _Dtype(dtype) for dtype in _DTYPES},
        **{(module, "UntypedStorage"): _Dtype("") for module in ("torch", "torch.storage")},
        ("torch", "Size"): _size,
        ("torch", "device"): _device,
        ("torch._utils", "_rebuild_tensor"): _tensor(where, budget),
        ("torch._utils", "_rebuild_tensor_v2"): _tensor(where, budget),
        ("torch._utils", "_rebuild_tensor_v3"): _typed_tensor(where, budget),
        ("torch._utils", "_rebuild_parameter"): _first,
        ("torch._utils", "_rebuild_parameter_with_state"): _first,
    }


def _storage_id(identifier: object) -> tuple[str, str, int]:
    """The key, dtype ("" for bytes) and number of elements of a storage that a pickle refers to."""
    if not isinstance(identifier, tuple) or len(identifier) < 5 or identifier[0] != "storage":
        raise ValueError("a reference to something other than a storage")
    kind, key, count = identifier[1], identifier[2], identifier[4]
    if not isinstance(kind, _Dtype) or not isinstance(key, str) or type(count) is not int or count < 0:
        raise ValueError("a storage without type, key or size")
    if len(identifier) > 5 and identifier[5] is not None:
        raise ValueError("a view of a storage, which torch has not written since version 0.4")
    return key, kind.name, count


def _nothing(*unused: object) -> None:
    """A placeholder for objects with storages that are not read yet."""


def _item_size(dtype: str) -> int:
    return holder(dtype or "uint8").itemsize


def _read_marks(unpickler: RestrictedUnpickler, tree: object) -> dict[str, EntryMark]:
    """The formulas in the `_metadata` of state_dicts, by the full names of their layers."""
    paths = {id(container): path for path, container in _containers(tree)}
    marks = {}
    for container, attributes in unpickler.attributes:
        metadata = attributes.get("_metadata")
        if id(container) not in paths or not isinstance(metadata, dict):
            continue
        for name, entry in metadata.items():
            if not isinstance(name, str):
                continue
            mark = entry.get(FORMULA_MARK) if isinstance(entry, dict) else None
            if isinstance(mark, dict):
                full = flat_name((*paths[id(container)], name)) if name else flat_name(paths[id(container)])
                marks[full] = EntryMark.of_metadata(mark)
    return marks


def _containers(tree: object, path: Path = ()) -> Iterator[tuple[Path, dict[Any, Any]]]:
    if isinstance(tree, dict):
        yield path, tree
        for key, value in tree.items():
            yield from _containers(value, (*path, key))


def _read_zip(archive: Archive, budget: Budget) -> Content:
    where = archive.where
    pickles = [name for name in archive.names if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise CheckpointError(f"{where}: {len(pickles)} members are named data.pkl, expected one")
    root = pickles[0].removesuffix("data.pkl")
    if any(name.startswith(root + "code/") for name in archive.names):
        raise CheckpointError(f"{where}: a TorchScript program (torch.jit.save); a checkpoint holds tensors, not code")
    if root + "byteorder" in archive and archive.read(root + "byteorder") != b"little":
        raise CheckpointError(f"{where}: {root}byteorder: the tensors are big-endian, which is not supported")
    storages: dict[str, _Storage] = {}

    def storage(identifier: object) -> _Storage:
        key, dtype, count = _storage_id(identifier)
        if key not in storages:
            name = f"{root}data/{key}"
            if name not in archive:
                raise ValueError(f"the storage {key!r} is missing")
            data = archive.content(name)
            storages[key] = _Storage(data, dtype or None)
        if len(storages[key].data) != count * _item_size(dtype):
            raise ValueError(f"the storage {key!r} has {len(storages[key].data)} bytes, {count} x {dtype} expected")
        return storages[key]

    unpickler = RestrictedUnpickler(
        archive.read(pickles[0]),
        _known_names(where, budget),
        where=f"{where}: {pickles[0]}",
        persistent_load=storage,
        budget=budget,
    )
    tree = unpickler.load()
    return Content(_finish(tree, where, budget), marks=_read_marks(unpickler, tree))


def _read_old(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Five pickles (magic, protocol, system, object, keys of the storages), then each storage's count and bytes."""
    where = os.fspath(path)
    data = open_bytes(path, budget)
    announced: dict[str, tuple[str, int]] = {}

    def announce(identifier: object) -> None:
        key, dtype, count = _storage_id(identifier)
        announced[key] = dtype, count

    known = _known_names(where, budget)
    # the storages come last: a first reading finds out how large they are, a second one makes the tensors
    without_tensors = {name: _nothing if callable(made) else made for name, made in known.items()}
    reader = RestrictedUnpickler(data, without_tensors, where=where, persistent_load=announce, budget=budget)
    reader.load()
    if (protocol := reader.load()) != _OLD_PROTOCOL:
        raise CheckpointError(f"{where}: torch's protocol {shown(protocol)}, expected {_OLD_PROTOCOL}")
    reader.load()
    start = reader.cursor.position
    reader.load()
    storages = _storages_at_the_end(reader, announced)
    again = RestrictedUnpickler(
        data, known, where=where, persistent_load=lambda identifier: storages[_storage_id(identifier)[0]], budget=budget
    )
    again.cursor.position = start
    tree = again.load()
    return Content(_finish(tree, where, budget), marks=_read_marks(again, tree))


def _storages_at_the_end(reader: RestrictedUnpickler, announced: dict[str, tuple[str, int]]) -> dict[str, _Storage]:
    """The storages by their keys, with the dtypes and counts from the tensors."""
    where, keys = reader.where, reader.load()
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise CheckpointError(f"{where}: the list of storages does not hold their names")
    if len(set(keys)) != len(keys) or set(keys) != set(announced):
        raise CheckpointError(f"{where}: the list of storages does not fit the tensors")
    storages = {}
    for key in keys:
        dtype, count = announced[key]
        written = reader.cursor.number("q", f"the size of storage {key}")
        if written != count:
            reader.cursor.fail(f"storage {key} has {written} elements, {count} were announced")
        taken = reader.cursor.take(count * _item_size(dtype), f"storage {key}")
        storages[key] = _Storage(taken, dtype or None)
    return storages
