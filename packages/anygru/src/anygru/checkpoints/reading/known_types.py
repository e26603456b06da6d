"""The types that a checkpoint's pickle may name: NumPy arrays and Python's containers, each made by a function that checks.

Constructors of NumPy and Python are never called with unchecked values of a file: `bytearray(10**9)` or
`ndarray((10**9,))` would take memory for nothing, and `list(value)` a thousand times would copy the value each time.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .budget import Budget
from .pickle_tree import Pending, check_key
from .source import Bytes, array_from, native, plain_dtype

_PER_ITEM, _PER_KEY = 16, 224
"""Bytes for an entry of a list or tuple, and for an entry of a dict or set with its key."""

Names = dict[tuple[str, str], Any]
"""The names in a pickle of arrays of any framework."""


def known_types(budget: Budget) -> Names:
    """Return the names allowed in every checkpoint's pickle, for Python 2 and 3 and NumPy 1 and 2."""
    containers = _containers(budget)
    arrays: Names = {("numpy", "ndarray"): _NDARRAY, ("numpy", "dtype"): _make_dtype}
    for core in ("core", "_core"):
        arrays[f"numpy.{core}.multiarray", "_reconstruct"] = lambda *given: _reconstruct_array(budget, *given)
        arrays[f"numpy.{core}.multiarray", "scalar"] = lambda *given: _numpy_scalar(budget, *given)
        arrays[f"numpy.{core}.numeric", "_frombuffer"] = lambda *given: _array_from_buffer(budget, *given)
    return {
        **arrays,
        ("collections", "OrderedDict"): containers.pop("OrderedDict"),
        ("collections", "defaultdict"): containers.pop("defaultdict"),
        ("_codecs", "encode"): containers.pop("encode"),
        **{(module, name): make for module in ("builtins", "__builtin__") for name, make in containers.items()},
    }


class _PendingDtype(Pending):
    """numpy.dtype("f4", False, True), then the state with the byte order."""

    def __init__(self, name: object):
        super().__init__()
        if isinstance(name, bytes):
            name = name.decode("ascii")
        if not isinstance(name, str):
            raise ValueError("a dtype without a name")
        self.dtype = plain_dtype(name)

    def build(self, state: object) -> np.dtype:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("a dtype with a state that is not a byte order")
        return self.dtype.newbyteorder(state[1]) if self.dtype.kind in "iufcU" else self.dtype


class _PendingArray(Pending):
    """numpy.ndarray made empty by `_reconstruct`, then the state (version, shape, dtype, fortran, bytes)."""

    def __init__(self, budget: Budget):
        super().__init__()
        self._budget = budget

    def build(self, state: object) -> np.ndarray:
        if not isinstance(state, tuple) or len(state) not in (4, 5):
            raise ValueError("an array's state must be (version, shape, dtype, fortran, bytes)")
        shape, dtype, fortran, data = state[-4:]
        return make_array(data, dtype, shape, self._budget, fortran=fortran is True or fortran == 1)


def make_array(data: object, dtype: object, shape: object, budget: Budget, *, fortran: bool = False) -> np.ndarray:
    """View a pickle's bytes as an array.

    The only accepted array of Python objects is NumPy's wrapping of None, Chainer's mark of a missing value.


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
    return native(array_from(_raw_bytes(data, budget), dtype, shape, "array", budget, fortran=fortran), budget)


def _raw_bytes(data: object, budget: Budget) -> Bytes:
    """Return bytes unchanged, and Python 2's text, read as Latin-1, as its original bytes."""
    if isinstance(data, str):
        budget.take(len(data))
        return bytearray(data, "latin-1")
    if isinstance(data, bytes | bytearray | memoryview):
        return data
    raise ValueError(f"an array's content is a {type(data).__name__}, expected bytes")


class _ArrayType:
    """Represents the class numpy.ndarray, which a pickle may name but not instantiate."""


_NDARRAY = _ArrayType()


def _reconstruct_array(budget: Budget, kind: object, shape: object = None, code: object = None) -> _PendingArray:
    if kind is not _NDARRAY:
        raise ValueError("a subclass of numpy.ndarray")
    return _PendingArray(budget)


def _array_from_buffer(budget: Budget, data: object, dtype: object, shape: object, order: object) -> np.ndarray:
    return make_array(data, dtype, shape, budget, fortran=isinstance(order, str) and order == "F")


def _numpy_scalar(budget: Budget, dtype: object, data: object = None) -> Any:
    return make_array(data, dtype, (), budget)[()]


def _make_dtype(name: object, align: object = False, copy: object = True) -> _PendingDtype:
    return _PendingDtype(name)


def _containers(budget: Budget) -> dict[str, Callable[..., Any]]:
    """Return the functions that make Python's containers, by their names; they copy, so they count."""

    def items(values: object, cost: int = _PER_ITEM) -> Any:
        if not isinstance(values, list | tuple | set | frozenset):
            raise ValueError("a container from something other than a container")
        budget.take(cost * len(values))
        return values

    def ordered_dict(pairs: object = ()) -> OrderedDict[Any, Any]:
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in items(pairs, _PER_KEY)):
            raise ValueError("an OrderedDict with an entry that is not a pair")
        return OrderedDict((check_key(key), value) for key, value in items(pairs))

    def encode(text: object, encoding: object = "latin1") -> bytes:
        # how protocol 2 writes bytes; only this one encoding is ever used for it
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise ValueError("bytes written in another way than as Latin-1 text")
        budget.take(len(text))
        return text.encode("latin-1")

    def make_bytes(text: object = "", encoding: object = "latin1") -> bytes:
        if not isinstance(text, bytes | memoryview):
            return encode(text, encoding)
        budget.take(len(text))
        return bytes(text)

    return {
        "OrderedDict": ordered_dict,
        "defaultdict": lambda factory=None: {},
        "encode": encode,
        "set": lambda values=(): {check_key(value) for value in items(values, _PER_KEY)},
        "frozenset": lambda values=(): frozenset(check_key(value) for value in items(values, _PER_KEY)),
        "tuple": lambda values=(): tuple(items(values)),
        "list": lambda values=(): list(items(values)),
        "dict": lambda: {},
        "complex": _make_complex,
        "bytes": make_bytes,
        "bytearray": make_bytes,
    }


def _make_complex(real: object, imaginary: object = 0.0) -> complex:
    if not isinstance(real, int | float) or not isinstance(imaginary, int | float):
        raise ValueError("a complex number with a part that is not a number")
    return complex(real, imaginary)
