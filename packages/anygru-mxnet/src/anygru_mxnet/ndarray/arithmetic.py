"""Arithmetic and comparisons of arrays with arrays, which broadcast, and with numbers, which take the array's dtype."""

import math
import operator as python_operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base import NUMPY_OF_TORCH, MXNetError, numeric_types
from ..operators import OPERATORS
from ..operators.arithmetic import BINARY, as_number
from ..state import state, without_torch_grad
from .array import Array, call, wrap, write
from .whole import carry, in_graph

if TYPE_CHECKING:
    from .ndarray import NDArray


class Arithmetic(Array):
    """The operators of Python's language on arrays."""

    __slots__ = ()
    # With it NumPy evaluates `numpy_array * nd_array` by the operators below.
    __array_priority__ = 1000.0
    # Python removes `__hash__` from a class that defines `__eq__`.
    __hash__ = Array.__hash__

    def __add__(self, other: Any) -> "NDArray":
        return arithmetic("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "NDArray":
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> "NDArray":
        return arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> "NDArray":
        return arithmetic("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "NDArray":
        return arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> "NDArray":
        return arithmetic("div", other, self)

    def __mod__(self, other: Any) -> "NDArray":
        return arithmetic("mod", self, other)

    def __rmod__(self, other: Any) -> "NDArray":
        return arithmetic("mod", other, self)

    def __pow__(self, other: Any) -> "NDArray":
        return arithmetic("power", self, other)

    def __rpow__(self, other: Any) -> "NDArray":
        return arithmetic("power", other, self)

    def __neg__(self) -> "NDArray":
        return call(OPERATORS["negative"], (self,), {})

    def __abs__(self) -> "NDArray":
        return call(OPERATORS["abs"], (self,), {})

    def __iadd__(self, other: Any) -> "NDArray":
        return in_place("add", self, other)

    def __isub__(self, other: Any) -> "NDArray":
        return in_place("sub", self, other)

    def __imul__(self, other: Any) -> "NDArray":
        return in_place("mul", self, other)

    def __itruediv__(self, other: Any) -> "NDArray":
        return in_place("div", self, other)

    def __imod__(self, other: Any) -> "NDArray":
        return in_place("mod", self, other)

    def __eq__(self, other: object) -> "NDArray":  # type: ignore[override]
        return arithmetic("equal", self, other)

    def __ne__(self, other: object) -> "NDArray":  # type: ignore[override]
        return arithmetic("not_equal", self, other)

    def __gt__(self, other: Any) -> "NDArray":
        return arithmetic("greater", self, other)

    def __ge__(self, other: Any) -> "NDArray":
        return arithmetic("greater_equal", self, other)

    def __lt__(self, other: Any) -> "NDArray":
        return arithmetic("lesser", self, other)

    def __le__(self, other: Any) -> "NDArray":
        return arithmetic("lesser_equal", self, other)


def _dtype(array: Array) -> str:
    return NUMPY_OF_TORCH[array._t.dtype].__name__


def arithmetic(name: str, left: Any, right: Any) -> "NDArray":
    """A binary operator on arrays, which broadcast, and numbers, which take the array's dtype.

    Raises:
        TypeError: for another class on the right.
        AssertionError: for another class on the left.
        MXNetError: for arrays of different dtypes or shapes that do not broadcast.
    """
    a: Any
    b: Any
    if isinstance(left, Array):
        a, ctx = left._t, left._ctx
        if isinstance(right, Array):
            b = right._t
            if a.dtype != b.dtype:
                raise MXNetError(f"both arrays must have one dtype, got {_dtype(left)} and {_dtype(right)}; use astype")
        elif isinstance(right, numeric_types):
            b = as_number(right, a)
        else:
            raise TypeError(f"type {type(right)} not supported")
    elif isinstance(left, numeric_types):
        b, ctx = right._t, right._ctx
        a = as_number(left, b)
    else:
        raise AssertionError(f"Argument lhs must have NDArray type, but got {left}")
    try:
        if state.recording:
            result = wrap(BINARY[name](a, b), ctx)
            if not result._t.is_floating_point():
                _connect_gradients(result, BINARY[name], left, right, (a, b))
            return result
        return wrap(without_torch_grad(BINARY[name], a, b), ctx)
    except RuntimeError as error:
        raise MXNetError(str(error)) from error


def _connect_gradients(result: Array, function: Callable, left: Any, right: Any, values: tuple[Any, Any]) -> None:
    """Let gradients flow through arrays of integers."""
    if isinstance(left, Array) and isinstance(right, Array):
        carry(result, function, [left, right], None)
    elif isinstance(left, Array):
        carry(result, lambda a: function(a, values[1]), [left], None)
    else:
        carry(result, lambda b: function(values[0], b), [right], None)


def in_place(name: str, left: Array, right: Any) -> Any:
    """A binary operator that writes its result into the left array."""
    result = arithmetic(name, left, right)
    write(left, result._t, within=in_graph(result).requires_grad)
    return left


def symmetric(name: str) -> Callable[[Any, Any], Any]:
    """A function such as `mx.nd.add(lhs, rhs)`: arrays or numbers on either side."""

    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, Array) or isinstance(rhs, Array):
            return arithmetic(name, lhs, rhs)
        if isinstance(lhs, numeric_types) and isinstance(rhs, numeric_types):
            return _ON_NUMBERS[name](lhs, rhs)
        raise TypeError(f"type {type(lhs)} and {type(rhs)} not supported")

    function.__name__ = name
    function.__doc__ = (
        f"`{name}` element by element: of arrays that broadcast, of an array and a number, or of two numbers."
    )
    return function


_ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": python_operator.add, "sub": python_operator.sub, "mul": python_operator.mul,
    "div": python_operator.truediv, "mod": python_operator.mod, "power": python_operator.pow,
    "maximum": max, "minimum": min, "hypot": math.hypot,
    "equal": lambda a, b: 1 if a == b else 0, "not_equal": lambda a, b: 1 if a != b else 0,
    "greater": lambda a, b: 1 if a > b else 0, "greater_equal": lambda a, b: 1 if a >= b else 0,
    "lesser": lambda a, b: 1 if a < b else 0, "lesser_equal": lambda a, b: 1 if a <= b else 0,
    "logical_and": lambda a, b: 1 if a and b else 0, "logical_or": lambda a, b: 1 if a or b else 0,
    "logical_xor": lambda a, b: 1 if bool(a) ^ bool(b) else 0,
}  # fmt: skip
