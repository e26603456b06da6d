"""Reading the arrays of an HDF5 file without trusting it.

The library finds the groups and the positions of an array's bytes. The bytes themselves are read here: the library
unpacks the whole content of a compressed chunk, without a limit.
"""

import math
import re
import struct
import zlib
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ...errors import CheckpointError
from .budget import PER_OBJECT, Budget
from .source import Cursor, array_from, count_elements, native, open_bytes, plain_dtype

if TYPE_CHECKING:
    import h5py as h5

DEEPEST = 32
"""How deep groups may be nested."""

_LONGEST_HEADER = 16_384
"""Bytes of an object's description; arrays need some hundreds."""

_HEAP_HEADER = 16
"""Bytes of a heap before its first object."""
_HEAP_SIZE, _HEAP_OBJECT = struct.Struct("<Q"), struct.Struct("<H6xQ")

_DEFLATE, _SHUFFLE, _FLETCHER = 1, 2, 3
"""Deflate, shuffle and checksum: the filters that every HDF5 library has. Others would load plugins."""
_FILTERS = {_DEFLATE: "deflate", _SHUFFLE: "shuffle", _FLETCHER: "fletcher32"}


class Reader:
    """Reads the arrays of one open file by their paths.

    Args:
        h5py: the library.
        where: the file, for errors.
        budget: counts the memory that is made.
        data: the file's bytes; None: the bytes of `where`.

    Attributes:
        arrays: the arrays read so far, by path.
        places: where the file holds the values of an array in one piece: the first byte, and NumPy's name of the dtype.
    """

    def __init__(self, h5py: ModuleType, where: str, budget: Budget, data: memoryview | None = None):
        self.arrays: dict[str, np.ndarray] = {}
        self.places: dict[str, tuple[int, str]] = {}
        self._h5py, self._where, self._budget = h5py, where, budget
        self._data = open_bytes(where, budget) if data is None else data
        self._groups: set[int] = set()
        self._read: dict[int, np.ndarray] = {}

    def text_attribute(self, group: "h5.Group", name: str) -> str:
        """Return a text attribute of a group, "" if it does not exist.

        Raises:
            CheckpointError: the attribute is not a single text, or longer than the file.
        """
        self._check_header(self._h5py.h5o.get_info(group.id).hdr.space.mesg, group.name)
        if name not in group.attrs:
            return ""
        attribute = group.attrs.get_id(name)
        self._budget.take(2 * attribute.get_storage_size())
        # The library crashes on some other objects in heaps (2.0, seen on a damaged file).
        text = attribute.get_type().get_class() == self._h5py.h5t.STRING
        if attribute.shape != () or not text or attribute.get_storage_size() > len(self._data):
            self._fail(group.name, f"the attribute {name} is not text")
        if attribute.get_type().is_variable_str():  # it is in a heap
            self._check_heaps(group)
        value = group.attrs[name]
        self._budget.take(5 * len(value) if isinstance(value, bytes | str) else 0)
        if not isinstance(value, bytes | str):
            self._fail(group.name, f"the attribute {name} is not text")
        return value if isinstance(value, str) else value.decode("utf-8", "replace")

    def _check_heaps(self, group: "h5.Group") -> None:
        """Refuse a heap in which the library (HDF5 2.0, seen on damaged files) looks for the next object without an end.

        A heap begins with "GCOL", a version, and its size; each of its objects with a number, a count, and its own size. The
        library advances by that size, also if it is 0 and the number means free space.
        """
        if group.file.id.get_create_plist().get_sizes()[1] != _HEAP_SIZE.size:
            self._fail(group.name, "its sizes are not of 8 bytes")
        steps = len(self._data) // _HEAP_OBJECT.size  # heaps do not overlap
        for found in re.finditer(rb"GCOL\x01", self._data):
            place = found.start() + _HEAP_HEADER
            if place > len(self._data):
                continue
            end = found.start() + min(_HEAP_SIZE.unpack_from(self._data, found.start() + 8)[0], len(self._data))
            while place + _HEAP_OBJECT.size <= min(end, len(self._data)):
                number, size = _HEAP_OBJECT.unpack_from(self._data, place)
                length = _HEAP_OBJECT.size + (size + 7) // 8 * 8 if number else size
                steps -= 1
                if not 0 < length <= end - place or steps < 0:
                    self._fail(group.name, f"damaged: the heap at byte {found.start()} has an object of {size} bytes")
                place += length

    def read_group(self, group: "h5.Group", prefix: str = "", depth: int = 0) -> None:
        """Read the contents of a group and of the groups below it.

        Raises:
            CheckpointError: the group has links, external or virtual storage, filters or types that a checkpoint has no
                use for, or is reached twice, as by hard links that would let a small file unfold to 2^n arrays.
        """
        address = self._h5py.h5o.get_info(group.id).addr
        if address in self._groups:
            self._fail(prefix, "the group is reached twice: it contains itself, or has two hard links")
        if depth >= DEEPEST:
            self._fail(prefix, f"groups are nested deeper than {DEEPEST} levels")
        self._groups.add(address)
        for name in group:
            path = prefix + name
            self._budget.take(2 * PER_OBJECT + 4 * len(path))
            if name in (".", "..") or "\0" in name:
                self._fail(path, "the name leads out of the group")
            if not isinstance(group.get(name, getlink=True), self._h5py.HardLink):
                self._fail(path, "a soft or external link, which could lead outside of the file")
            self._check_header(self._h5py.h5o.get_info(group.id, name.encode()).hdr.space.mesg, path)
            item = group[name]
            if isinstance(item, self._h5py.Group):
                self.read_group(item, path + "/", depth + 1)
            elif isinstance(item, self._h5py.Dataset):
                self.arrays[path] = self._read_once(item, path)
            else:
                self._fail(path, "neither a group nor an array")

    def _read_once(self, dataset: "h5.Dataset", path: str) -> np.ndarray:
        """Read an array, or return the array already read through another hard link."""
        address = self._h5py.h5o.get_info(dataset.id).addr
        if address not in self._read:
            self._read[address] = self._read_dataset(dataset, path)
        return self._read[address]

    def _read_dataset(self, dataset: "h5.Dataset", path: str) -> np.ndarray:
        if dataset.shape is None:
            return np.array(None, dtype=object)
        dtype = dataset.dtype
        if dtype.kind not in "biufcS" or dtype.shape or dtype.names:
            self._fail(path, f"an array of {dtype}, expected plain numbers or text")
        plain_dtype(dtype.str)
        array = self._read_values(dataset, path, np.dtype(dtype.str))
        text = self._h5py.check_string_dtype(dtype)
        if text is not None and text.encoding == "utf-8":
            self._budget.take(4 * array.nbytes)
            return np.char.decode(array, "utf-8")
        return native(array, self._budget)

    def _read_values(self, dataset: "h5.Dataset", path: str, dtype: np.dtype) -> np.ndarray:
        place = f"{self._where}: {path}"
        properties = dataset.id.get_create_plist()
        if properties.get_layout() == self._h5py.h5d.VIRTUAL or properties.get_external_count():
            self._fail(path, "its values are in other files")
        size = count_elements(dataset.shape, place) * dtype.itemsize
        if dataset.chunks is not None and size:
            return self._read_chunks(dataset, path, dtype)
        if dataset.id.get_storage_size() < size:
            self._fail(path, f"the shape needs {size} bytes, {dataset.id.get_storage_size()} are stored")
        offset = dataset.id.get_offset()
        if offset is None and size:  # a compact array: at most 64 KiB, in the file's directory
            self._budget.take(PER_OBJECT + size)
            return np.asarray(dataset[()]).astype(dtype)
        view = self._cursor(offset or 0, place).take(size, "the array")
        self.places[path] = int(offset or 0), dtype.str
        return array_from(view, dtype, dataset.shape, place, self._budget)

    def _read_chunks(self, dataset: "h5.Dataset", path: str, dtype: np.dtype) -> np.ndarray:
        """Read an array that is stored in chunks; every chunk must exist."""
        chunks: list[h5.h5d.StoreInfo] = []
        dataset.id.chunk_iter(chunks.append)
        self._budget.take(PER_OBJECT * len(chunks))
        expected = math.prod(-(-axis // side) for axis, side in zip(dataset.shape, dataset.chunks, strict=True))
        if len(chunks) != expected:
            self._fail(path, f"{len(chunks)} of {expected} chunks exist")
        length = math.prod(dataset.chunks) * dtype.itemsize
        filters = self._filters(dataset, path)
        self._budget.take(length + math.prod(dataset.shape) * dtype.itemsize)
        array = np.zeros(dataset.shape, dtype)
        for chunk in chunks:
            place = f"{self._where}: {path}, chunk {chunk.chunk_offset}"
            data = bytes(self._cursor(chunk.byte_offset or 0, place).take(chunk.size, "the chunk"))
            data = _unfiltered(data, filters, chunk.filter_mask, length, dtype.itemsize, place)
            if len(data) != length:
                raise CheckpointError(f"{place}: {len(data)} bytes, expected {length}")
            spans = [slice(begin, begin + side) for begin, side in zip(chunk.chunk_offset, dataset.chunks, strict=True)]
            target = array[tuple(spans)]
            # a chunk at the array's edge reaches beyond it
            inside = tuple(slice(axis) for axis in target.shape)
            target[...] = np.frombuffer(data, dtype).reshape(dataset.chunks)[inside]
        return array

    def _filters(self, dataset: "h5.Dataset", path: str) -> list[int]:
        properties = dataset.id.get_create_plist()
        codes = [int(properties.get_filter(number)[0]) for number in range(properties.get_nfilters())]
        for code in codes:
            if code not in _FILTERS:
                self._fail(path, f"filter {code}, expected one of {', '.join(_FILTERS.values())}")
        if len(set(codes)) < len(codes):
            self._fail(path, "a filter occurs twice")
        return codes

    def _cursor(self, position: int, place: str) -> Cursor:
        cursor = Cursor(self._data, place)
        cursor.position = min(position, len(self._data))
        return cursor

    def _check_header(self, size: int, path: str) -> None:
        """Refuse a description from which the library would build a type nested thousands deep, with a copy per level."""
        if size > _LONGEST_HEADER and not self._budget.contained:
            self._fail(
                path, f"{size} bytes of description; more than {_LONGEST_HEADER} are read with sandbox=True only"
            )

    def _fail(self, path: str, cause: str) -> NoReturn:
        raise CheckpointError(f"{self._where}: {path or '/'}: {cause}")


def _unfiltered(data: bytes, filters: list[int], mask: int, length: int, itemsize: int, place: str) -> bytes:
    """Undo the filters of a chunk, the last one first; a set bit of the mask means an omitted filter."""
    for number, code in reversed(list(enumerate(filters))):
        if mask >> number & 1:
            continue
        if code == _DEFLATE:
            data = _inflated(data, length, place)
        elif code == _SHUFFLE:
            whole = len(data) // itemsize * itemsize
            by_byte = np.frombuffer(data, np.uint8, whole).reshape(itemsize, -1)
            data = by_byte.T.tobytes() + data[whole:]
        else:
            data = _checked(data, place)
    return data


def _inflated(data: bytes, length: int, place: str) -> bytes:
    # room for a checksum after the values, and for one byte too many
    room = length + 5
    try:
        stream = zlib.decompressobj()
        inflated = stream.decompress(data, room)
    except zlib.error as error:
        raise CheckpointError(f"{place}: damaged: {error}") from error
    if not stream.eof:
        raise CheckpointError(f"{place}: the compressed bytes end too soon, or unfold to more than {length}")
    return inflated


def _checked(data: bytes, place: str) -> bytes:
    """Take the checksum off the end of the data.

    Raises:
        CheckpointError: it differs from the checksum of the data.
    """
    content, stored = data[:-4], data[-4:]
    words = np.frombuffer(content + b"\0" * (len(content) % 2), ">u2").astype(np.uint64)
    weights = np.arange(len(words), 0, -1, dtype=np.uint64) % np.uint64(65535)
    # HDF5 folds sums to 16 bits: the remainder modulo 65535, with 65535 instead of 0 unless all words are 0
    sums = [(int(values.sum()) - 1) % 65535 + 1 if words.any() else 0 for values in (words, words * weights)]
    if int.from_bytes(stored, "little") != sums[1] << 16 | sums[0]:
        raise CheckpointError(f"{place}: damaged: the checksum does not fit the values")
    return content
