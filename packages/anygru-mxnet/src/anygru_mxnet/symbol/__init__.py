"""`mx.sym`: graphs of operators without values, for exported recurrent networks."""

import builtins
import operator as python_operator
from collections.abc import Callable
from typing import Any

from anygru.extend import refuser

from ..base import DtypeLike, MXNetError, NotImplementedForSymbol, Sizes, mx_real_t, numeric_types
from ..ndarray.custom import operator_of
from ..operators import OPERATORS
from . import _internal, contrib, linalg, numpy, numpy_extension, op, random, register, symbol
from .op import *
from .register import FUNCTIONS
from .symbol import *
from .symbol import Symbol, apply


def Custom(*args: Symbol, op_type: str, name: str | None = None, **kwargs: Any) -> Symbol:
    """Apply an operator registered by `mx.operator.register`. Its `CustomOpProp` gets the arguments that are not symbols.

    Raises:
        MXNetError: for a name that is not registered, and for symbols that the operator does not take.
        TypeError: for symbols both by place and by name.
    """
    named = {key: kwargs.pop(key) for key in list(kwargs) if isinstance(kwargs[key], Symbol)}
    if args and named:
        raise TypeError("Custom takes its input symbols either by place or by name, not both")
    attributes = {"op_type": op_type, **{key: str(value) for key, value in kwargs.items() if key != "attr"}}
    applied = operator_of(attributes)
    inputs = [*args] or [named.pop(key, None) for key in applied.inputs]
    if named or len(args) > len(applied.inputs):
        given = ", ".join(named) or f"{len(args)} symbols"
        raise MXNetError(f"Custom: {op_type} takes {', '.join(applied.inputs)}, got {given}")
    return apply(applied, inputs, {**attributes, "attr": kwargs.get("attr")}, name, "custom")


def zeros(shape: Sizes, dtype: DtypeLike = None, **kwargs: Any) -> Symbol:
    """Zeros; a size of 0, such as an unknown batch size, is inferred from the graph."""
    return _created("_zeros", {"shape": shape, "dtype": dtype or mx_real_t}, kwargs)


def ones(shape: Sizes, dtype: DtypeLike = None, **kwargs: Any) -> Symbol:
    """Ones."""
    return _created("_ones", {"shape": shape, "dtype": dtype or mx_real_t}, kwargs)


def full(shape: Sizes, val: float, dtype: DtypeLike = None, **kwargs: Any) -> Symbol:
    """A symbol with one value in all elements."""
    return _created("_full", {"shape": shape, "value": float(val), "dtype": dtype or mx_real_t}, kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DtypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Evenly spaced numbers. With `infer_range` their number follows from the operator that reads them."""
    kwargs |= {"name": name, **({"infer_range": True} if infer_range else {})}
    attributes = {"start": start, "stop": stop, "step": step, "repeat": repeat, "dtype": dtype or mx_real_t}
    return _created("_arange", attributes, kwargs)


def eye(N: int, M: int = 0, k: int = 0, dtype: DtypeLike = None, **kwargs: Any) -> Symbol:
    """Ones on a diagonal, the k-th above the main one."""
    return _created("_eye", {"N": N, "M": M, "k": k, "dtype": dtype or mx_real_t}, kwargs)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: DtypeLike = None
) -> Symbol:
    """Evenly spaced numbers, with or without the last number."""
    attributes = {"start": start, "stop": stop, "num": num, "endpoint": endpoint, "dtype": dtype or mx_real_t}
    return _created("_linspace", attributes, {"name": name})


def split_v2(ary: Symbol, indices_or_sections: int | tuple, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Split a symbol into equal parts, or at positions."""
    return ary.split_v2(indices_or_sections, axis, squeeze_axis)


def _created(name: str, attributes: dict[str, Any], others: dict[str, Any]) -> Symbol:
    given = others.pop("name", None)
    return apply(OPERATORS[name], [], {**attributes, **others}, given, name)


def _symbol_or_number(
    name: str, on_numbers: Callable[[Any, Any], Any], reverse: str | None = None
) -> Callable[[Any, Any], Any]:
    def function(left: Any, right: Any) -> Any:
        if isinstance(left, Symbol):
            return symbol._binary(f"_{name}", left, right)
        if isinstance(right, Symbol):
            return symbol._scalar(f"{reverse or '_' + name}_scalar", f"{reverse or '_' + name}scalar", right, left)
        if isinstance(left, numeric_types) and isinstance(right, numeric_types):
            return on_numbers(left, right)
        raise TypeError(f"types ({type(left)}, {type(right)}) not supported")

    return function


# `max` and `min` alone are the operators here.
maximum = _symbol_or_number("maximum", builtins.max)
minimum = _symbol_or_number("minimum", builtins.min)
hypot = _symbol_or_number("hypot", lambda a, b: (a * a + b * b) ** 0.5)
_power = _symbol_or_number("power", python_operator.pow, "_rpower")


def power(base: Any, exp: Any) -> Any:
    """`base` to the power of `exp`: symbols or numbers."""
    return _power(base, exp)


pow = power

np, npx = numpy, numpy_extension
# Operators are added to this module from a table; `__getattr__` keeps type checkers from reporting them as missing.
__getattr__ = refuser("mxnet.symbol")
