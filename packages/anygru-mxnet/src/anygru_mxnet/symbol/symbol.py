"""`mx.sym.Symbol`: graphs of the operators for arrays.

Hybridized and exported blocks are traced with symbols, and `SymbolBlock` runs symbols.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import attribute
from ..base import DTYPE_NUMBERS, STORAGE_NUMBERS, DtypeLike, MXNetError, NotImplementedForSymbol, Sizes, numeric_types
from ..name import current as current_names
from ..operators import OPERATORS, Operator
from ..state import state
from . import files
from .base import SymbolBase
from .node import HIDDEN, Entry, Node, text_of

__all__ = ["Group", "Symbol", "Variable", "fromjson", "load", "load_json", "var"]


class Symbol(SymbolBase):
    """One or more outputs of a graph of operators."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __hash__(self) -> int:
        return id(self) // 16

    def __reduce__(self) -> tuple:
        return (load_json, (self.tojson(),))

    def __add__(self, other: Any) -> "Symbol":
        return _binary("_plus", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Symbol":
        return _binary("_minus", self, other)

    def __rsub__(self, other: Any) -> "Symbol":
        return _scalar("_rminus_scalar", "_rminusscalar", self, other)

    def __mul__(self, other: Any) -> "Symbol":
        return _binary("_mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Symbol":
        return _binary("_div", self, other)

    def __rtruediv__(self, other: Any) -> "Symbol":
        return _scalar("_rdiv_scalar", "_rdivscalar", self, other)

    def __mod__(self, other: Any) -> "Symbol":
        return _binary("_mod", self, other)

    def __rmod__(self, other: Any) -> "Symbol":
        return _scalar("_rmod_scalar", "_rmodscalar", self, other)

    def __pow__(self, other: Any) -> "Symbol":
        return _binary("_power", self, other)

    def __rpow__(self, other: Any) -> "Symbol":
        return _scalar("_rpower_scalar", "_rpower_scalar", self, other)

    def __neg__(self) -> "Symbol":
        # Not a "negative" node: MXNet 1.9.1's symbols multiply by -1 (source), also in files.
        return self.__mul__(-1.0)

    def __abs__(self) -> "Symbol":
        return apply(OPERATORS["abs"], [self], {}, None, "abs")

    def __eq__(self, other: object) -> "Symbol":  # type: ignore[override]
        return _binary("_equal", self, other, "_equal_scalar")

    def __ne__(self, other: object) -> "Symbol":  # type: ignore[override]
        return _binary("_not_equal", self, other, "_not_equal_scalar")

    def __gt__(self, other: Any) -> "Symbol":
        return _binary("_greater", self, other, "_greater_scalar")

    def __ge__(self, other: Any) -> "Symbol":
        return _binary("_greater_equal", self, other, "_greater_equal_scalar")

    def __lt__(self, other: Any) -> "Symbol":
        return _binary("_lesser", self, other, "_lesser_scalar")

    def __le__(self, other: Any) -> "Symbol":
        return _binary("_lesser_equal", self, other, "_lesser_equal_scalar")

    def reshape(self, *shape: Any, **kwargs: Any) -> "Symbol":
        """Change the shape, with the codes of `mx.nd.reshape`."""
        if len(shape) == 1:
            shape = shape[0]
        attributes = {"shape": kwargs.pop("shape") if isinstance(shape, tuple) and not shape else shape, **kwargs}
        return apply(OPERATORS["Reshape"], [self], attributes, None, "reshape")

    def astype(self, dtype: DtypeLike) -> "Symbol":
        """Another dtype."""
        return apply(OPERATORS["Cast"], [self], {"dtype": dtype}, None, "cast")

    def flatten(self, inplace: bool = False) -> "Symbol":
        """Two dimensions."""
        return apply(OPERATORS["Flatten"], [self], {}, None, "flatten")

    def split_v2(self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> "Symbol":
        """Split the symbol into equal parts, or at positions."""
        cuts: dict[str, Any] = {"indices": (), "sections": indices_or_sections}
        if not isinstance(indices_or_sections, int):
            cuts = {"indices": (0, *indices_or_sections), "sections": 0}
        attributes = {**cuts, "axis": axis, "squeeze_axis": squeeze_axis}
        return apply(OPERATORS["_split_v2"], [self], attributes, None, "_split_v2")

    def expand_dims(self, axis: int, inplace: bool = False) -> "Symbol":
        """Add an axis of size 1."""
        return apply(OPERATORS["expand_dims"], [self], {"axis": axis}, None, "expand_dims")

    def squeeze(self, axis: Sizes = None, inplace: bool = False) -> "Symbol":
        """Remove axes of size 1."""
        attributes = {} if axis is None else {"axis": axis}
        return apply(OPERATORS["squeeze"], [self], attributes, None, "squeeze")

    def broadcast_to(self, shape: Sizes) -> "Symbol":
        """Broadcast axes of size 1."""
        return apply(OPERATORS["broadcast_to"], [self], {"shape": shape}, None, "broadcast_to")


def _array_method(name: str) -> Any:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedForSymbol(method, None, *args)

    method.__name__ = name
    method.__doc__ = "Refused: only arrays have values."
    return method


for _name in ("asnumpy", "asscalar", "as_in_context", "attach_grad", "backward", "copy", "detach", "wait_to_read"):
    setattr(Symbol, _name, _array_method(_name))


def _binary(name: str, left: Symbol, right: Any, with_scalar: str | None = None) -> Symbol:
    if isinstance(right, Symbol):
        operator = OPERATORS[f"broadcast{name}" if state.numpy else name]  # arrays of `mx.np` broadcast
        return apply(operator, [left, right], {}, None, name)
    return _scalar(f"{name}_scalar", with_scalar or f"{name}scalar", left, right)


def _scalar(name: str, hint: str, symbol: Symbol, number: Any) -> Symbol:
    if not isinstance(number, numeric_types):
        raise TypeError(f"type {type(number)} not supported")
    return apply(OPERATORS[name], [symbol], {"scalar": number}, None, hint)


def apply(
    operator: Operator, inputs: Sequence[Symbol | None], attributes: dict[str, Any], name: str | None, hint: str
) -> Symbol:
    """A node that applies an operator.

    Raises:
        MXNetError: for an attribute that the operator does not have, or that it needs and does not get.
        AssertionError: for an input that is not a symbol.
    """
    attributes = dict(attributes)
    scope = attribute.current().get(attributes.pop("attr", None))
    scope |= {key: attributes.pop(key) for key in HIDDEN if key in attributes}
    attributes |= {f"__{key}__" if key in HIDDEN else key: value for key, value in scope.items()}
    operator.check({key: value for key, value in attributes.items() if not key.startswith("__")})
    for key in operator.mandatory:
        if key not in attributes:
            raise MXNetError(f"Required parameter {key} is not presented, in operator {operator.name}")
    given = current_names().get(name, hint)
    # Sorted, so that files have the same bytes as MXNet's.
    attrs = dict(sorted((key, text_of(value)) for key, value in attributes.items()))
    entries: list[Entry] = []
    # Missing inputs become variables with the node's attributes, for example in `sym.FullyConnected(data, num_hidden=3)`.
    needed = [] if operator.variadic else operator.needed(operator.parse(attrs))
    missing: list[Symbol | None] = [None] * (len(needed) - len(inputs))
    for place, symbol in enumerate((*inputs, *missing)):
        which = operator.inputs[0 if operator.variadic else place]
        if symbol is None:
            if which in needed:
                entries.append((Node(None, f"{given}_{which}", attrs), 0))
        elif not isinstance(symbol, Symbol):
            raise AssertionError(f"{operator.name}: inputs must be Symbols, got {type(symbol)}")
        else:
            entries.extend(symbol._entries if operator.variadic else symbol._entries[:1])
        if which in operator.begins and entries[-1][0].operator is None:
            entries[-1][0].attrs.setdefault("__init__", operator.begins[which])
    operator.expect(len(entries), operator.parse(attrs) | {"num_args": attributes.get("num_args", len(entries))})
    if operator.variadic:
        attrs = dict(sorted({"num_args": str(len(entries)), **attrs}.items()))
    node = Node(operator, given, attrs, entries)
    return Symbol([(node, index) for index in range(node.outputs())])


def var(
    name: str,
    attr: dict[str, str] | None = None,
    shape: Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DtypeLike = None,
    init: Any = None,
    stype: str | None = None,
    profiler_scope: Any = None,
    **kwargs: Any,
) -> Symbol:
    """A variable, with its known shape, dtype and other attributes.

    Raises:
        TypeError: for a name that is not a string.
        ValueError: for a keyword that is not an `__attribute__`.
    """
    if not isinstance(name, str):
        raise TypeError("Expect a string for variable `name`")
    scope = attribute.current().get(attr)
    attrs = {f"__{key}__" if key in HIDDEN else key: value for key, value in scope.items()}
    if shape is not None:
        attrs["__shape__"] = text_of(tuple(shape))
    if lr_mult is not None:
        attrs["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        attrs["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        attrs["__dtype__"] = str(DTYPE_NUMBERS[np.dtype(dtype).type])
    if init is not None:
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        attrs["__storage_type__"] = str(STORAGE_NUMBERS[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ValueError(
                f"Attribute name={key} is not supported. Additional attributes must start and end with double underscores,"
                " e.g, __yourattr__"
            )
        attrs[key] = str(value)
    return Symbol([(Node(None, name, dict(sorted(attrs.items()))), 0)])


Variable = var


def Group(symbols: Any, create_fn: Any = None) -> Symbol:
    """Group several symbols in one."""
    if not symbols or any(not isinstance(symbol, Symbol) for symbol in symbols):
        raise TypeError("Expected a list of symbols as input")
    return Symbol([entry for symbol in symbols for entry in symbol._entries])


def load(fname: str) -> Symbol:
    """The symbol in a file.

    Raises:
        MXNetError: for a missing or damaged file.
    """
    return Symbol(files.load(fname))


def load_json(json_str: str) -> Symbol:
    """The symbol in a text.

    Raises:
        TypeError: for values other than a text.
        MXNetError: for a text that is not a symbol.
    """
    if not isinstance(json_str, str):
        raise TypeError("fname required to be string")
    return Symbol(files.from_json(json_str))


fromjson = load_json
