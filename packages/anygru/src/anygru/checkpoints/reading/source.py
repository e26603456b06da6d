"""The bytes of a file, and reading them with every length checked against the bytes really present."""

import contextlib
import mmap
import os
import re
import stat
import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NoReturn, TypeAlias

import numpy as np

from ...errors import CheckpointError, printable
from .budget import PER_OBJECT, Budget

Bytes: TypeAlias = bytes | bytearray | memoryview

MAP_FROM = 64 << 20
"""Files from this size on are mapped rather than read: 64 MiB. Mapping keeps a large file out of memory; reading
keeps arrays valid if a small one is shortened."""

COMPRESS_BELOW = 16 << 20
"""Arrays from this size on are never written compressed, so that a reader can map them: 16 MiB."""

_PER_VALUE = 80
"""Bytes of a Python value without its content, or of a list, with its entry in another list."""

_DTYPE = re.compile(r"[<>|=]?(?:b1|\?|[iu][1248]|f[248]|c(?:8|16)|[SUO]\d{0,9})", re.ASCII)

MAX_AXES = 32
"""NumPy's limit for the axes of a tensor."""


def read_regular(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Return the content of a regular file, or its first `most` bytes.

    Raises:
        CheckpointError: the file cannot be read, or is not a regular file.
    """
    with _opened(path) as (file, size):
        return file.read(size if most is None else min(size, most))


def size_of(path: str | os.PathLike[str]) -> int:
    """Return the size of a regular file; CheckpointError if it cannot be opened, or is not one."""
    with _opened(path) as (_, size):
        return size


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file, with its size: a FIFO or a device could block forever, and some files of /proc have no end."""
    try:
        # without O_NONBLOCK the open itself would wait for a FIFO's writer
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise CheckpointError(f"{os.fspath(path)}: cannot be read: it is not a regular file")
            file, size = os.fdopen(descriptor, "rb"), os.fstat(descriptor).st_size
        except BaseException:
            os.close(descriptor)
            raise
        with file:
            yield file, size
    except CheckpointError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a file that has become shorter cannot be mapped
        reason = error.strerror if isinstance(error, OSError) else ""
        raise CheckpointError(f"{os.fspath(path)}: cannot be read: {reason or error}") from error


def named_file(path: str | os.PathLike[str], name: str, place: str) -> str:
    """Return the path of a file that another file names, in the folder of that file or below it.

    Raises:
        CheckpointError: the name leads out of the folder, also through a link, or to no file.
    """
    if not name or "\0" in name:
        raise CheckpointError(f"{place} {shown(name)} is not the name of a file: it is empty or has a zero byte")
    folder = os.path.realpath(os.path.dirname(os.path.realpath(path)))
    target = os.path.realpath(os.path.join(folder, name))
    if os.path.commonpath([folder, target]) != folder or target == folder:
        raise CheckpointError(f"{place} {shown(name)} is not in the model's folder")
    if not os.path.isfile(target):
        raise CheckpointError(f"{place} {shown(name)} is not a file")
    return target


def open_bytes(path: str | os.PathLike[str], budget: Budget) -> memoryview:
    """Return the content of a regular file as a writable view; writing to it never reaches the file.

    Raises:
        CheckpointError: the file cannot be opened, or is larger than the budget.
    """
    with _opened(path) as (file, size):
        budget.add_file(size)
        # at most the size that was counted, should the file grow meanwhile
        if size >= MAP_FROM:
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
        budget.take(size)
        return memoryview(bytearray(file.read(size)))


class Cursor:
    """A position in some bytes. Every read takes a description for the error message.

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
        """Return the next little-endian integer; `code` is a format of the struct module: I, i, Q, q ..."""
        layout = struct.Struct("<" + code)
        return int(layout.unpack(self.take(layout.size, what))[0])

    def fail(self, cause: str, position: int | None = None) -> NoReturn:
        """Raise a CheckpointError that names the file, the byte and the cause."""
        raise CheckpointError(f"{self.where}: byte {self.position if position is None else position}: {cause}")


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], instead: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Let errors name the file: in front of a message that does not.

    Args:
        path: the file.
        instead: a private path to open; errors name `path`.
    """
    name = printable(os.fspath(path))
    try:
        yield
    except CheckpointError as error:
        text = str(error) if instead is None else str(error).replace(printable(os.fspath(instead)), name)
        if text == str(error) and name in text:
            raise
        raise CheckpointError(text if name in text else f"{name}: {text}") from error
    except OSError as error:
        if instead is None or error.filename is None or not os.fsdecode(error.filename).startswith(os.fspath(instead)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def shown(value: object) -> str:
    """Write a value of a file for an error: numbers and short texts verbatim, otherwise the type.

    The `repr` of nested values could take forever, and Python refuses the `repr` of a long integer.
    """
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}..."
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 256 else f"an integer of {value.bit_length()} bits"
    return repr(value) if value is None or isinstance(value, float) else f"a {type(value).__name__}"


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
            raise CheckpointError(f"{place}: the shape has an impossible axis, {shown(axis)}")
        count *= int(axis)
    return count


def plain_dtype(name: str) -> np.dtype:
    """Return the dtype of NumPy's name for numbers, text, or objects, with or without a byte order.

    Only names that every NumPy writes on every machine are accepted: no records, no sub-arrays, no `longdouble`.

    Raises:
        ValueError: another name.
    """
    if not _DTYPE.fullmatch(name):
        raise ValueError(f"the dtype {shown(name)} holds no plain numbers or text")
    return np.dtype(name)


def array_from(
    data: Bytes, dtype: np.dtype, shape: Sequence[int], place: str, budget: Budget, *, fortran: bool = False
) -> np.ndarray:
    """View bytes as an array of exactly that size; copied only where the bytes are not aligned or not writable.

    In a mapped file they stay even when not aligned, since mapping avoids copies.

    Raises:
        CheckpointError: the number of bytes does not match dtype and shape, or the budget is exhausted.
    """
    view = memoryview(data).cast("B")
    count = count_elements(shape, place)
    expected = count * dtype.itemsize
    if expected != len(view):
        raise CheckpointError(f"{place}: the shape times the size of {dtype} is {expected} bytes, got {len(view)}")
    if dtype.itemsize == 0 and tuple(shape):
        # NumPy would make such texts one letter long, from uninitialized memory
        raise CheckpointError(f"{place}: an array of {dtype}, with values that have no size")
    budget.take(PER_OBJECT)
    if expected == 0:
        return empty_array(tuple(shape), dtype, place)
    array = np.frombuffer(view, dtype).reshape(tuple(shape), order="F" if fortran else "C")
    return usable(array, view, budget)


def plain_values(array: np.ndarray, place: str, budget: Budget) -> Any:
    """Return an array of text, or None, as Python's own values: one value, or nested lists of them.

    Raises:
        CheckpointError: the budget is exhausted, or a letter is not valid Unicode.
    """
    lists, made = 1, 0
    for axis in array.shape:
        made += lists * _PER_VALUE  # an axis of 0 has lists around it all the same
        lists *= axis
    budget.take(made + lists * (_PER_VALUE + array.dtype.itemsize))
    try:
        return array.tolist()
    except (ValueError, SystemError) as error:  # NumPy's SystemError for letters far beyond Unicode
        raise CheckpointError(f"{place}: {error}") from error


def usable(array: np.ndarray, data: memoryview, budget: Budget) -> np.ndarray:
    """Return an array on some bytes that can be written to, and is aligned unless the bytes are a mapped file's."""
    in_place = array.flags.aligned or isinstance(data.obj, mmap.mmap)
    if in_place and array.flags.writeable:
        return array
    budget.take(array.nbytes)
    copied: np.ndarray = array.copy(order="K")
    return copied


def native(array: np.ndarray, budget: Budget) -> np.ndarray:
    """Return an array in this machine's byte order."""
    if array.dtype.isnative:
        return array
    budget.take(array.nbytes)
    swapped: np.ndarray = array.astype(array.dtype.newbyteorder("="))
    return swapped


def empty_array(shape: tuple[int, ...], dtype: np.dtype, place: str) -> np.ndarray:
    """Return an array without any value; NumPy also bounds the other axes of such a shape.

    Raises:
        CheckpointError: an axis is beyond NumPy's bounds.
    """
    try:
        return np.zeros(shape, dtype)  # zeros: NumPy gives a text of no letters one after all
    except ValueError as error:
        raise CheckpointError(f"{place}: the shape is impossible: {error}") from error
