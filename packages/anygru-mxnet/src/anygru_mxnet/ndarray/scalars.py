"""The scalars of `asscalar` and `asnumpy`: NumPy's, with the behaviour of NumPy 1.

Before NumPy 2 `float32(3) + 0.5` was a float64, so that a sum of losses in a Python float was a float64. In NumPy 2 it is a
float32. In MXNet a sum has shape (1,), and programs call `float(loss.sum().asnumpy())`, which is an error in NumPy 2.4.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")
_PARTNERS: dict[type, type] = {float: np.float64, int: np.int64, bool: np.bool_}


def _method(kind: type, name: str, compute: Callable[[Any, Any], Any] | None, swapped: bool) -> Callable:
    """A binary method that converts a Python number to a NumPy scalar first."""
    plain = getattr(kind, name)

    def method(self: Any, other: Any) -> Any:
        partner = _PARTNERS.get(type(other))
        if partner is None:
            return scalar(plain(self, other))
        left, right = kind(self), partner(other)
        return scalar(compute(right, left) if swapped else compute(left, right))  # type: ignore[misc]

    method.__name__ = name
    return method


def _numpy1_type(kind: type) -> type:
    """A subclass of a NumPy scalar type with the promotion and the `repr` of NumPy 1."""
    members: dict[str, Any] = {
        "__module__": "numpy",
        "__slots__": (),
        "__hash__": kind.__hash__,
        # NumPy 2 prints `np.float32(1.0)`, NumPy 1 printed `1.0`.
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
_TYPES: dict[type, type] = {kind: _numpy1_type(kind) for kind in _KINDS}


def scalar(value: Any) -> Any:
    """Convert a NumPy scalar to the subclass with the promotion of NumPy 1. Other values are returned unchanged."""
    kind = _TYPES.get(type(value))
    return value if kind is None else kind(value)


class _Singles(np.ndarray):
    """An array with a last axis of size 1. `float()` accepts it, or each of its rows."""

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
        if return_scalar is None:  # NumPy 1 does not pass it: views (of `squeeze`) stay arrays
            return_scalar = array.base is None
        plain = np.asarray(array)
        return plain[()] if return_scalar and plain.ndim == 0 else singles(plain)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return np.asarray(self).__reduce_ex__(protocol)


_Singles.__name__ = "ndarray"


def singles(array: np.ndarray) -> np.ndarray:
    """The array. If its last axis has size 1, `float()` accepts it, or each of its rows."""
    return array.view(_Singles) if array.shape[-1:] == (1,) else array
