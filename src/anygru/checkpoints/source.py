"""The bytes of a file, and reading them with every length checked against what is really there."""

import mmap
import os
import struct
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

import numpy as np

from ..errors import CheckpointError

__all__ = [
    "COMPRESS_BELOW",
    "MAP_FROM",
    "Bytes",
    "Cursor",
    "array_from",
    "check_expansion",
    "count_elements",
    "empty_array",
    "open_bytes",
    "usable",
]

Bytes: TypeAlias = bytes | bytearray | memoryview

#: Files from this size on are mapped rather than read: 64 MiB. Mapping keeps a large file out of memory; reading
#: keeps arrays valid when somebody shortens a small one.
MAP_FROM = 64 << 20

#: Arrays from this size on are never written compressed, so that a reader can map them: 16 MiB.
COMPRESS_BELOW = 16 << 20

#: What compressed or sparse data may unfold to: always this much, and beyond it this many times the bytes stored.
FREE_EXPANSION = 64 << 20
EXPANSION_RATIO = 32

#: No tensor has more axes than NumPy knows.
MAX_AXES = 32


def open_bytes(path: str | os.PathLike[str]) -> memoryview:
    """Give the content of a file as a writable view; writing to it never reaches the file.

    Raises:
        CheckpointError: the file cannot be opened.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < MAP_FROM:
                return memoryview(bytearray(file.read()))
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    except OSError as error:
        raise CheckpointError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error


class Cursor:
    """A position in some bytes. Every read says what it wants, so that an error can name it.

    Args:
        data: the bytes.
        where: the file's name for errors.
    """

    def __init__(self, data: Bytes, where: str):
        self.data = memoryview(data).cast("B")
        self.where = where
        self.position = 0

    @property
    def remaining(self) -> int:
        """Bytes not read yet."""
        return len(self.data) - self.position

    def take(self, count: int, what: str) -> memoryview:
        """Give the next `count` bytes, without a copy."""
        if count < 0 or count > self.remaining:
            self.fail(f"{what} needs {count} bytes, {self.remaining} are left")
        start = self.position
        self.position += count
        return self.data[start : self.position]

    def number(self, code: str, what: str) -> int:
        """Give the next little-endian integer, `code` being that of the struct module: I, i, Q, q ..."""
        layout = struct.Struct("<" + code)
        return int(layout.unpack(self.take(layout.size, what))[0])

    def fail(self, cause: str, position: int | None = None) -> NoReturn:
        """Raise a CheckpointError that names the file, the byte and the cause."""
        raise CheckpointError(f"{self.where}: byte {self.position if position is None else position}: {cause}")


def count_elements(shape: Sequence[int], place: str) -> int:
    """Multiply a shape out.

    Raises:
        CheckpointError: an axis is negative or no integer, or there are too many of them.
    """
    if len(shape) > MAX_AXES:
        raise CheckpointError(f"{place}: a shape of {len(shape)} axes; at most {MAX_AXES} are possible")
    count = 1
    for axis in shape:
        if isinstance(axis, bool) or not isinstance(axis, int | np.integer) or not 0 <= axis < 1 << 62:
            raise CheckpointError(f"{place}: the shape {tuple(shape)} has an impossible axis")
        count *= int(axis)
    return count


def array_from(data: Bytes, dtype: np.dtype, shape: Sequence[int], place: str, *, fortran: bool = False) -> np.ndarray:
    """View bytes as an array of exactly that size; copied only where the bytes are not aligned or not writable.

    In a mapped file they stay even when not aligned, since a copy is what mapping avoids.

    Raises:
        CheckpointError: the bytes are not as many as dtype and shape say.
    """
    view = memoryview(data).cast("B")
    expected = count_elements(shape, place) * dtype.itemsize
    if expected != len(view):
        raise CheckpointError(
            f"{place}: shape {tuple(int(axis) for axis in shape)} of {dtype} needs {expected} bytes, got {len(view)}"
        )
    if expected == 0:
        return empty_array(tuple(shape), dtype, place)
    array = np.frombuffer(view, dtype).reshape(tuple(shape), order="F" if fortran else "C")
    return usable(array, view)


def usable(array: np.ndarray, data: memoryview) -> np.ndarray:
    """Give an array on some bytes that can be written to, and is aligned unless the bytes are a mapped file's."""
    in_place = array.flags.aligned or isinstance(data.obj, mmap.mmap)
    return array if in_place and array.flags.writeable else array.copy(order="K")


def empty_array(shape: tuple[int, ...], dtype: np.dtype, place: str) -> np.ndarray:
    """Give an array without any value; NumPy bounds the other axes of such a shape, too.

    Raises:
        CheckpointError: an axis is beyond NumPy's bounds.
    """
    try:
        return np.empty(shape, dtype)
    except ValueError as error:
        raise CheckpointError(f"{place}: the shape {shape} is impossible: {error}") from error


def check_expansion(unfolded: int, stored: int, place: str) -> None:
    """Refuse data that would unfold to far more than the bytes that hold them.

    Raises:
        CheckpointError: `unfolded` bytes are over 64 MiB and over 32 times the `stored` ones.
    """
    limit = max(FREE_EXPANSION, EXPANSION_RATIO * stored)
    if unfolded > limit:
        raise CheckpointError(
            f"{place}: {stored} bytes would unfold to {unfolded}; at most {limit} are accepted (a zip bomb, or a "
            f"damaged length)"
        )
