"""What a checkpoint's pickle may name: NumPy arrays and Python's containers, each behind a function that checks.

None of NumPy's or Python's own constructors is ever called with a file's values as they are: `bytearray(10**9)` or
`ndarray((10**9,))` would take memory for nothing.
"""

from collections import OrderedDict
from typing import Any

import numpy as np

from .pickle_tree import Pending, check_key
from .source import Bytes, array_from

__all__ = ["KNOWN_TYPES", "make_array"]


class _PendingDtype(Pending):
    """numpy.dtype("f4", False, True), then the state with the byte order."""

    def __init__(self, name: object):
        super().__init__()
        if isinstance(name, bytes):
            name = name.decode("ascii")
        if not isinstance(name, str):
            raise ValueError("a dtype without a name")
        self.dtype = np.dtype(name)
        if self.dtype.kind not in "biufcSUO" or self.dtype.shape or self.dtype.names:
            raise ValueError(f"the dtype {name!r} holds no plain numbers or text")

    def build(self, state: object) -> np.dtype:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("a dtype with a state that is no byte order")
        return self.dtype.newbyteorder(state[1]) if self.dtype.kind in "iufcU" else self.dtype


class _PendingArray(Pending):
    """numpy.ndarray made empty by `_reconstruct`, then the state (version, shape, dtype, fortran, bytes)."""

    def build(self, state: object) -> np.ndarray:
        if not isinstance(state, tuple) or len(state) not in (4, 5):
            raise ValueError("an array's state must be (version, shape, dtype, fortran, bytes)")
        shape, dtype, fortran, data = state[-4:]
        return make_array(data, dtype, shape, fortran=bool(fortran))


def make_array(data: object, dtype: object, shape: object, *, fortran: bool = False) -> np.ndarray:
    """View a pickle's bytes as an array.

    The one array of Python objects that is accepted is NumPy's wrapping of None, with which Chainer marks what is
    missing.

    Raises:
        ValueError, CheckpointError: the parts do not fit together.
    """
    if isinstance(dtype, _PendingDtype):
        dtype = dtype.dtype
    if not isinstance(dtype, np.dtype) or not isinstance(shape, tuple):
        raise ValueError("an array without a dtype or a shape")
    if dtype.kind == "O":
        if shape == () and isinstance(data, list) and len(data) == 1 and data[0] is None:
            return np.array(None, dtype=object)
        raise ValueError("an array of Python objects")
    array = array_from(_raw_bytes(data), dtype, shape, "array", fortran=fortran)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _raw_bytes(data: object) -> Bytes:
    """Bytes as bytes; Python 2's text, read as Latin-1, back as the bytes that it was."""
    if isinstance(data, str):
        return bytearray(data, "latin-1")
    if isinstance(data, bytes | bytearray | memoryview):
        return data
    raise ValueError(f"an array's content is a {type(data).__name__}, expected bytes")


class _ArrayType:
    """Stands for the class numpy.ndarray, which a pickle may name but not make objects of."""


def _reconstruct_array(kind: object, shape: object = None, code: object = None) -> _PendingArray:
    if kind is not _NDARRAY:
        raise ValueError("a subclass of numpy.ndarray")
    return _PendingArray()


def _array_from_buffer(data: object, dtype: object, shape: object, order: object) -> np.ndarray:
    return make_array(data, dtype, shape, fortran=order == "F")


def _numpy_scalar(dtype: object, data: object = None) -> Any:
    return make_array(data, dtype, ())[()]


def _make_dtype(name: object, align: object = False, copy: object = True) -> _PendingDtype:
    return _PendingDtype(name)


def _make_ordered_dict(pairs: object = ()) -> OrderedDict[Any, Any]:
    if not isinstance(pairs, list | tuple):
        raise ValueError("an OrderedDict of something else than pairs")
    return OrderedDict((check_key(key), value) for key, value in pairs)


def _make_default_dict(factory: object = None) -> dict[Any, Any]:
    return {}


def _sequence(values: object) -> Any:
    if not isinstance(values, list | tuple | set | frozenset):
        raise ValueError("a container made of something else than a container")
    return values


def _make_set(values: object = ()) -> set[Any]:
    return {check_key(value) for value in _sequence(values)}


def _make_frozenset(values: object = ()) -> frozenset[Any]:
    return frozenset(check_key(value) for value in _sequence(values))


def _make_tuple(values: object = ()) -> tuple[Any, ...]:
    return tuple(_sequence(values))


def _make_list(values: object = ()) -> list[Any]:
    return list(_sequence(values))


def _make_dict() -> dict[Any, Any]:
    return {}


def _make_complex(real: object, imaginary: object = 0.0) -> complex:
    if not isinstance(real, int | float) or not isinstance(imaginary, int | float):
        raise ValueError("a complex number of something else than numbers")
    return complex(real, imaginary)


def _encode(text: object, encoding: object = "latin1") -> bytes:
    # how protocol 2 writes bytes; only this one encoding is ever used for it
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise ValueError("bytes written in another way than as Latin-1 text")
    return text.encode("latin-1")


def _make_bytes(text: object = "", encoding: object = "latin1") -> bytes:
    return bytes(text) if isinstance(text, bytes | memoryview) else _encode(text, encoding)


_NDARRAY = _ArrayType()

_CONTAINERS = {
    "set": _make_set,
    "frozenset": _make_frozenset,
    "tuple": _make_tuple,
    "list": _make_list,
    "dict": _make_dict,
    "complex": _make_complex,
    "bytes": _make_bytes,
    "bytearray": _make_bytes,
}

#: What any checkpoint's pickle may name, under the names of Python 2 and 3 and of NumPy 1 and 2.
KNOWN_TYPES: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): _make_ordered_dict,
    ("collections", "defaultdict"): _make_default_dict,
    ("_codecs", "encode"): _encode,
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _make_dtype,
    **{(module, name): make for module in ("builtins", "__builtin__") for name, make in _CONTAINERS.items()},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct_array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _numpy_scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _array_from_buffer for core in ("core", "_core")},
}
