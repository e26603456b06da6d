"""The scalars of `asscalar` and `asnumpy`: NumPy's, with the behaviour of NumPy 1.

Before NumPy 2 a scalar and a Python number met as two scalars, `float32(3) + 0.5` being a float64, so that a loss summed up in
a Python float is one. NumPy 2 lets the Python number take the scalar's dtype.
A sum has shape (1,) in MXNet, and scripts write `float(loss.sum().asnumpy())`: NumPy 2.4 refuses that.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")
_PARTNERS: dict[type, type] = {float: np.float64, int: np.int64, bool: np.bool_}


def _method(kind: type, name: str, compute: Callable[[Any, Any], Any] | None, swapped: bool) -> Callable:
    """A method of two operands that computes with a Python number as with the NumPy scalar of its own type."""
    plain = getattr(kind, name)

    def method(self: Any, other: Any) -> Any:
        partner = _PARTNERS.get(type(other))
        if partner is None:
            return scalar(plain(self, other))
        left, right = kind(self), partner(other)
        return scalar(compute(right, left) if swapped else compute(left, right))  # type: ignore[misc]

    method.__name__ = name
    return method


def _of_its_time(kind: type) -> type:
    """The subclass of a NumPy scalar type that promotes, and shows itself, as before NumPy 2."""
    members: dict[str, Any] = {
        "__module__": "numpy",
        "__slots__": (),
        "__hash__": kind.__hash__,
        # NumPy 2 shows `np.float32(1.0)` where MXNet's time printed `1.0`.
        "__repr__": kind.__str__,
    }
    for name in _ARITHMETIC:
        compute = getattr(operator, name)
        members[f"__{name}__"] = _method(kind, f"__{name}__", compute, False)
        members[f"__r{name}__"] = _method(kind, f"__r{name}__", compute, True)
    for name in _COMPARISONS:
        members[f"__{name}__"] = _method(kind, f"__{name}__", getattr(operator, name), False)
    for name in ("neg", "pos", "abs"):
        unary = getattr(operator, name)
        members[f"__{name}__"] = lambda self, unary=unary: scalar(unary(kind(self)))
    return type(kind.__name__, (kind,), members)


_KINDS = (np.float32, np.float64, np.float16, np.uint8, np.int32, np.int8, np.int64)
_TYPES: dict[type, type] = {kind: _of_its_time(kind) for kind in _KINDS}


def scalar(value: Any) -> Any:
    """A NumPy scalar that promotes as in MXNet's time; anything else as it is."""
    kind = _TYPES.get(type(value))
    return value if kind is None else kind(value)


class _Singles(np.ndarray):
    """An array with a last axis of size 1: it, or each of its rows, converts to a Python number."""

    def _only_number(self) -> Any:
        if self.size != 1:
            raise TypeError("only size-1 arrays can be converted to Python scalars")
        return self.item()

    def __float__(self) -> float:
        return float(self._only_number())

    def __int__(self) -> int:
        return int(self._only_number())

    def __complex__(self) -> complex:
        return complex(self._only_number())

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool | None = None) -> Any:
        if return_scalar is None:  # NumPy 1 does not pass it. `squeeze` needs an array, a view; results are new arrays
            return_scalar = array.base is None
        plain = np.asarray(array)
        return plain[()] if return_scalar and plain.ndim == 0 else singles(plain)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return np.asarray(self).__reduce_ex__(protocol)


_Singles.__name__ = "ndarray"


def singles(array: np.ndarray) -> np.ndarray:
    """The array, as one that converts to a Python number if there is one number in it or in each of its rows."""
    return array.view(_Singles) if array.shape[-1:] == (1,) else array
