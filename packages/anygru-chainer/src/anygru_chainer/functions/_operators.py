"""The operators and array methods of Variables, which are functions: this file, above both, puts them on the class."""

from collections.abc import Callable
from typing import Any, NoReturn

from ..variable import Variable
from . import arithmetic, arrays, joining, products, reductions
from .arithmetic import Operand, _operand


def _transpose(self: Variable, *axes: Any) -> Variable:
    """The axes in another order, by default reversed; see `functions.transpose`."""
    order = axes[0] if len(axes) == 1 and (isinstance(axes[0], (tuple, list)) or axes[0] is None) else axes
    return arrays.transpose(self, order or None)


def _reshape(self: Variable, *shape: Any) -> Variable:
    """The same elements in another shape; see `functions.reshape`."""
    return arrays.reshape(self, tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)


def _mean(
    self: Variable, axis: int | tuple[int, ...] | None = None, *, weights: Any = None, keepdims: bool = False
) -> Variable:
    """The mean; see `functions.average`."""
    return reductions.average(self, axis, weights, keepdims)


def _no_comparison(sign: str) -> Callable[[Variable, object], NoReturn]:
    def compare(self: Variable, other: object) -> NoReturn:
        raise TypeError(f"Variables do not support {sign} operator. You could use `array` attribute instead.")

    return compare


def _reflected_matmul(self: Variable, other: Operand) -> Variable:
    return products.matmul(_operand(self, other), self)


METHODS = {
    "T": property(arrays.transpose, doc="The transpose."),
    "transpose": _transpose,
    "reshape": _reshape,
    "mean": _mean,
    "__getitem__": lambda self, key: joining.get_item(self, key),
    "__pos__": lambda self: self,
    "__neg__": arithmetic.neg,
    "__abs__": arithmetic.absolute,
    "__add__": lambda self, other: arithmetic.add(self, other),
    "__radd__": lambda self, other: arithmetic.add(self, other),
    "__sub__": arithmetic.sub,
    "__rsub__": arithmetic.rsub,
    "__mul__": arithmetic.mul,
    "__rmul__": arithmetic.mul,
    "__truediv__": arithmetic.div,
    "__rtruediv__": arithmetic.rdiv,
    "__floordiv__": arithmetic.floordiv,
    "__rfloordiv__": arithmetic.rfloordiv,
    "__pow__": arithmetic.pow,
    "__rpow__": arithmetic.rpow,
    "__matmul__": lambda self, other: products.matmul(self, _operand(self, other)),
    "__rmatmul__": _reflected_matmul,
    "__lt__": _no_comparison("<"),
    "__le__": _no_comparison("<="),
    "__eq__": _no_comparison("=="),
    "__ne__": _no_comparison("!="),
    "__gt__": _no_comparison(">"),
    "__ge__": _no_comparison(">="),
}
for _name, _method in METHODS.items():
    setattr(Variable, _name, _method)
