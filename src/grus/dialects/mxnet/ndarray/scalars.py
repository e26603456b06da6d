"""The NumPy scalars that `asscalar` gives: with Python's numbers they compute as in the NumPy of MXNet's time.

Before NumPy 2 a scalar and a Python number met as two scalars, `float32(3) + 0.5` being a float64, so that a loss summed up in
a Python float is one.  NumPy 2 lets the Python number take the scalar's dtype.
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
