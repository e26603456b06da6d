"""Writing pickles of plain values, arrays and names, readable where the original frameworks live.

Python's pickler would write NumPy 2's module names, which NumPy 1 lacks, and cannot name classes of modules that are
not installed. Large arrays go to the file without a copy.
"""

import struct
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np


@dataclass(frozen=True)
class Global:
    """A name in a module, written verbatim: the module and the name may be missing here."""

    module: str
    name: str


@dataclass(frozen=True)
class PickledCall:
    """An object that the reader makes by calling `function(*arguments)` and then setting `state`.

    With `new` the function is a class, made by its `__new__` alone.
    """

    function: Global
    arguments: tuple[Any, ...] = ()
    state: Any = None
    new: bool = False


_PLAIN = (int, float, complex, str, bytes, bytearray)
_NDARRAY = Global("numpy", "ndarray")
_DTYPE = Global("numpy", "dtype")
_RECONSTRUCT = Global("numpy.core.multiarray", "_reconstruct")
_SCALAR = Global("numpy.core.multiarray", "scalar")
_ENCODE = Global("_codecs", "encode")
_ORDERED_DICT = Global("collections", "OrderedDict")


def dump(
    value: object,
    file: IO[bytes],
    protocol: int = 4,
    convert: Callable[[Any], PickledCall | Global | None] | None = None,
) -> None:
    """Write a pickle.

    Args:
        value: None, bool, int, float, complex, str, bytes, list, tuple, dict, OrderedDict, set, frozenset, NumPy array
            or scalar (no objects), `Global`, `PickledCall`, nested at will.
        file: open for binary writing.
        protocol: 2, 3 or 4.
        convert: called first with each value; returns a replacement, or None to write the value itself.

    Raises:
        TypeError: a value of another type.
        ValueError: another protocol, an array of Python objects, or a value inside itself.
    """
    if isinstance(protocol, bool) or protocol not in (2, 3, 4):
        raise ValueError(f"pickle protocol must be 2, 3 or 4, got {protocol!r}")
    file.write(b"\x80" + bytes([protocol]))
    _Writer(file, protocol, convert).write(value)
    file.write(b".")


class _Writer:
    def __init__(self, file: IO[bytes], protocol: int, convert: Callable[[Any], PickledCall | Global | None] | None):
        self._file = file
        self._protocol = protocol
        self._convert = convert
        self._open: set[int] = set()
        self._memo: dict[int, int] = {}
        # a value in the memo must stay alive, or another one could get its id
        self._kept: list[Any] = []

    def write(self, value: object) -> None:
        if self._convert is not None:
            converted = self._convert(value)
            if converted is not None:
                self._write_shared(value, lambda: self.write_node(converted))
                return
        if value is None or isinstance(value, bool):
            self._file.write({None: b"N", True: b"\x88", False: b"\x89"}[value])
        elif isinstance(value, _PLAIN) and type(value) in _PLAIN:
            self._write_plain(value)
        elif isinstance(value, np.ndarray):
            self._write_shared(value, lambda: self._write_array(value))
        elif isinstance(value, np.generic):
            self.write_node(PickledCall(_SCALAR, (value.dtype, value.tobytes())))
        elif isinstance(value, np.dtype):
            self._write_dtype(value)
        elif isinstance(value, Global | PickledCall):
            self.write_node(value)
        else:
            self._write_container(value)

    def write_node(self, node: PickledCall | Global) -> None:
        """A name, or a call with its state."""
        if isinstance(node, Global):
            self._file.write(b"c" + f"{node.module}\n{node.name}\n".encode())
            return
        self.write_node(node.function)
        self._write_tuple(node.arguments)
        self._file.write(b"\x81" if node.new else b"R")
        if node.state is not None:
            self.write(node.state)
            self._file.write(b"b")

    def _write_shared(self, value: object, write: Callable[[], None]) -> None:
        """Write a value once, and refer to it where it comes again, so that tied weights stay tied."""
        index = self._memo.get(id(value))
        if index is not None:
            self._file.write(b"j" + struct.pack("<I", index))
            return
        with _Inside(self._open, value):
            write()
        self._memo[id(value)] = len(self._kept)
        self._file.write(b"r" + struct.pack("<I", len(self._kept)))
        self._kept.append(value)

    def _write_plain(self, value: complex | str | bytes | bytearray) -> None:
        if isinstance(value, int):
            self._write_integer(value)
        elif isinstance(value, float):
            self._file.write(b"G" + struct.pack(">d", value))
        elif isinstance(value, complex):
            self.write_node(PickledCall(Global("builtins", "complex"), (value.real, value.imag)))
        elif isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            self._file.write(b"X" + struct.pack("<I", len(data)) + data)
        else:
            self._write_bytes(memoryview(value))

    def _write_integer(self, value: int) -> None:
        if -(1 << 31) <= value < 1 << 31:
            self._file.write(b"J" + struct.pack("<i", value))
            return
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        head = b"\x8a" + bytes([len(data)]) if len(data) < 256 else b"\x8b" + struct.pack("<i", len(data))
        self._file.write(head + data)

    def _write_bytes(self, data: memoryview) -> None:
        if self._protocol < 3:
            # protocol 2 has no bytes: the reader gets text and encodes it
            self.write_node(PickledCall(_ENCODE, (str(data, "latin-1"), "latin1")))
        elif len(data) < 1 << 32:
            self._file.write(b"B" + struct.pack("<I", len(data)))
            self._file.write(data)
        elif self._protocol < 4:
            raise ValueError(f"{len(data)} bytes in one piece need pickle protocol 4, the protocol is {self._protocol}")
        else:
            self._file.write(b"\x8e" + struct.pack("<Q", len(data)))
            self._file.write(data)

    def _write_array(self, array: np.ndarray) -> None:
        if array.dtype.kind not in "biufcSU":
            raise ValueError(f"an array of {array.dtype} cannot be written: only plain numbers and text can")
        # a subclass is written as an array, and never an axis added to a scalar as ascontiguousarray does
        plain = np.asarray(array, order="C")
        self.write_node(_RECONSTRUCT_CALL)
        self._file.write(b"(")
        self.write(1)
        self._write_tuple(tuple(int(axis) for axis in plain.shape))
        self.write(plain.dtype)
        self.write(False)
        self._write_bytes(_bytes_of(plain))
        self._file.write(b"tb")

    def _write_dtype(self, dtype: np.dtype) -> None:
        order = "|" if dtype.byteorder == "|" else "<" if dtype.newbyteorder("<") == dtype else ">"
        size, alignment, flags = (dtype.itemsize, 4, 8) if dtype.kind == "U" else (-1, -1, 0)
        if dtype.kind == "S":
            size, alignment = dtype.itemsize, 1
        name = dtype.str[1:]
        self.write_node(PickledCall(_DTYPE, (name, False, True), (3, order, None, None, None, size, alignment, flags)))

    def _write_tuple(self, values: tuple[Any, ...]) -> None:
        self._file.write(b"(")
        for value in values:
            self.write(value)
        self._file.write(b"t")

    def _write_container(self, value: object) -> None:
        with _Inside(self._open, value):
            if isinstance(value, dict):
                if isinstance(value, OrderedDict):
                    self.write_node(PickledCall(_ORDERED_DICT))
                else:
                    self._file.write(b"}")
                for key, item in value.items():
                    self.write(key)
                    self.write(item)
                    self._file.write(b"s")
            elif isinstance(value, list):
                self._file.write(b"]")
                for item in value:
                    self.write(item)
                    self._file.write(b"a")
            elif isinstance(value, tuple):
                self._write_tuple(value)
            elif isinstance(value, set | frozenset):
                name = "set" if isinstance(value, set) else "frozenset"
                self.write_node(PickledCall(Global("builtins", name), (list(value),)))
            else:
                raise TypeError(f"a {type(value).__name__} cannot be written to a checkpoint")


_RECONSTRUCT_CALL = PickledCall(_RECONSTRUCT, (_NDARRAY, (0,), b"b"))


class _Inside:
    """Notices a value that is being written inside itself."""

    def __init__(self, open_values: set[int], value: object):
        self._open_values, self._value = open_values, value

    def __enter__(self) -> None:
        if id(self._value) in self._open_values:
            raise ValueError(f"a {type(self._value).__name__} that contains itself cannot be written")
        self._open_values.add(id(self._value))

    def __exit__(self, *unused: object) -> None:
        self._open_values.discard(id(self._value))


def _bytes_of(array: np.ndarray) -> memoryview:
    """The content of a contiguous array, without a copy; text arrays are viewed as bytes first."""
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
