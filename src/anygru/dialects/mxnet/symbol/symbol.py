"""`mx.sym.Symbol`: the same operators as on arrays, put together before there are values.

Blocks are traced with symbols when they are hybridized or exported, and `SymbolBlock` runs them.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import DTYPE_NUMBERS, MXNetError, numeric_types
from ..context import Context, current_context
from ..name import current as current_names
from ..ndarray.ndarray import NDArray, wrap
from ..operators import OPERATORS, Operator
from . import files, graph, infer, types
from .node import Entry, Node, text_of, topological

__all__ = ["Group", "Symbol", "Variable", "load", "load_json", "var"]


class Symbol:
    """One or more outputs of a graph of operators."""

    __slots__ = ("_entries",)
    __array_priority__ = 1000.0

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    # ---- facts

    @property
    def name(self) -> str | None:
        """The name of the node, None for a group."""
        nodes = {id(node) for node, _ in self._entries}
        return self._entries[0][0].name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        name = self.name
        if name is None:
            return f"<Symbol group [{', '.join(part.name or '' for part in self)}]>"
        return f"<Symbol {name}>"

    def __hash__(self) -> int:
        return id(self) // 16

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol("bool")

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator["Symbol"]:
        return (Symbol([entry]) for entry in self._entries)

    def __getitem__(self, index: Any) -> "Symbol":
        if isinstance(index, str):
            found = [i for i, name in enumerate(self.list_outputs()) if name == index]
            if len(found) != 1:
                raise ValueError(f"Cannot find output that matches name {index}")
            return Symbol([self._entries[found[0]]])
        if isinstance(index, slice):
            return Symbol(self._entries[index])
        if not isinstance(index, int):
            raise TypeError("Symbol only support integer index to fetch i-th output")
        if index >= len(self._entries):
            raise IndexError("Index out of range")
        return Symbol([self._entries[index]])

    def _nodes(self) -> list[Node]:
        return topological(node for node, _ in self._entries)

    def _auxiliary(self) -> set[int]:
        found = set()
        for node in self._nodes():
            if node.operator is not None and node.operator.auxiliary:
                for name, (below, _) in zip(node.operator.inputs, node.inputs, strict=False):
                    if name in node.operator.auxiliary:
                        found.add(id(below))
        return found

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return [node.name for node in self._nodes() if node.operator is None]

    def list_arguments(self) -> list[str]:
        """Names of the variables that are no auxiliary states."""
        auxiliary = self._auxiliary()
        return [node.name for node in self._nodes() if node.operator is None and id(node) not in auxiliary]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states that operators keep, such as running means."""
        auxiliary = self._auxiliary()
        return [node.name for node in self._nodes() if id(node) in auxiliary]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return [node.output_name(index) for node, index in self._entries]

    def get_internals(self) -> "Symbol":
        """Every output of every node, as a group."""
        return Symbol([(node, index) for node in self._nodes() for index in range(node.outputs())])

    def get_children(self) -> "Symbol | None":
        """The inputs of the node, as a group."""
        below = self._entries[0][0].inputs
        return Symbol(list(below)) if below else None

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self._entries)

    # ---- attributes

    def attr(self, key: str) -> str | None:
        """One attribute's text."""
        return self._entries[0][0].attrs.get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The attributes of the node."""
        return dict(self._entries[0][0].attrs)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of every node that has any."""
        return {node.name: dict(node.attrs) for node in self._nodes() if node.attrs}

    # ---- inference, running, files

    def infer_shape(self, *args: Any, **known: Any) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states, given those of some arguments by name or order.

        Three times None, with a warning that names the arguments, where some do not follow.

        Raises:
            MXNetError: for shapes that do not fit together, and names that are no argument's.
            TypeError: for a shape that is no tuple.
        """
        found = self._shapes(args, known)
        unknown = [
            (name, shape) for name, shape in zip(self.list_arguments(), found[0], strict=True) if 0 in (shape or (0,))
        ]
        if unknown:
            _warn_of_unknown("shape", "(0s in shape means unknown dimensions)", unknown)
        return (None, None, None) if any(0 in (shape or (0,)) for part in found for shape in part) else found

    def infer_shape_partial(self, *args: Any, **known: Any) -> tuple[list, list, list]:
        """What `infer_shape` finds, with 0 for sizes and () for shapes that are not known."""
        return self._shapes(args, known)

    def _shapes(self, args: tuple, known: dict[str, Any]) -> tuple[list, list, list]:
        known = self._by_name("shape", args, known)
        for name, shape in known.items():
            if not isinstance(shape, tuple):
                raise TypeError(f"Arguments need to be shapes (tuple), but '{name}' is {type(shape)}.")
        found = infer.shapes(self._entries, known)
        variables = {node.name: found.of((node, 0)) or () for node in self._nodes() if node.operator is None}
        return (
            [variables[name] for name in self.list_arguments()],
            [found.of(entry) or () for entry in self._entries],
            [variables[name] for name in self.list_auxiliary_states()],
        )

    def infer_type(self, *args: Any, **known: Any) -> tuple[Any, Any, Any]:
        """Dtypes of arguments, outputs and auxiliary states, given those of some arguments by name or order.

        Three times None, with a warning that names the arguments, where some do not follow.

        Raises:
            MXNetError: for dtypes that do not fit together, and names that are no argument's.
        """
        found = self.infer_type_partial(*args, **known)
        unknown = [(name, None) for name, kind in zip(self.list_arguments(), found[0], strict=True) if kind is None]
        if unknown:
            _warn_of_unknown("type", "", unknown)
        return (None, None, None) if any(kind is None for part in found for kind in part) else found

    def infer_type_partial(self, *args: Any, **known: Any) -> tuple[list, list, list]:
        """What `infer_type` finds, with None for dtypes that are not known."""
        found = types.types(self._nodes(), self._by_name("type", args, known))
        variables = {node.name: found.of((node, 0)) for node in self._nodes() if node.operator is None}
        return (
            [variables[name] for name in self.list_arguments()],
            [found.of(entry) for entry in self._entries],
            [variables[name] for name in self.list_auxiliary_states()],
        )

    def _by_name(self, what: str, args: tuple, known: dict[str, Any]) -> dict[str, Any]:
        names = self.list_arguments()
        if args and known:
            raise ValueError(f"Can only specify known argument {what}s either by positional or kwargs way.")
        if len(args) > len(names):
            raise MXNetError(f"infer_{what}: {len(args)} {what}s for {len(names)} arguments")
        unknown = [name for name in known if name not in self.list_inputs()]
        if unknown:
            raise MXNetError(f"infer_{what}: {', '.join(unknown)} not found, candidates are {', '.join(names)}")
        return {name: value for name, value in zip(names, args, strict=False) if value is not None} | known

    def eval(self, ctx: Context | None = None, **arrays: NDArray) -> list[NDArray]:
        """Compute the outputs from arrays given by the arguments' names."""
        context = ctx or current_context()
        program = graph.Program(self._entries)
        missing = [name for name in program.variables if name not in arrays]
        if missing:
            raise MXNetError(f"eval: no values for {', '.join(missing)}")
        with context:
            results = program.run([arrays[name]._t for name in program.variables])
        return [wrap(values, context) for values in results]

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph in the form of MXNet's symbol files."""
        return files.to_json(self._entries)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Write the graph to a file that MXNet reads."""
        files.save(fname, self.tojson())

    def __reduce__(self) -> tuple:
        return (load_json, (self.tojson(),))

    def __copy__(self) -> "Symbol":
        return Symbol(list(self._entries))

    def __call__(self, **symbols: "Symbol") -> "Symbol":
        return self.compose(symbols)

    def compose(self, symbols: dict[str, "Symbol"]) -> "Symbol":
        """The same graph with other symbols in place of variables."""
        copies: dict[int, Entry | Node] = {}
        for node in self._nodes():
            if node.operator is None and node.name in symbols:
                copies[id(node)] = symbols[node.name]._entries[0]
            elif node.operator is None:
                copies[id(node)] = node
            else:
                copies[id(node)] = Node(
                    node.operator, node.name, node.attrs, [_moved(copies, entry) for entry in node.inputs]
                )
        return Symbol([_moved(copies, entry) for entry in self._entries])

    # ---- arithmetic

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

    # ---- shapes

    def reshape(self, *shape: Any, **kwargs: Any) -> "Symbol":
        """Another shape; the codes are those of `mx.nd.reshape`."""
        if len(shape) == 1:
            shape = shape[0]
        attributes = {"shape": kwargs.pop("shape") if isinstance(shape, tuple) and not shape else shape, **kwargs}
        return apply(OPERATORS["Reshape"], [self], attributes, None, "reshape")

    def astype(self, dtype: Any) -> "Symbol":
        """Another dtype."""
        return apply(OPERATORS["Cast"], [self], {"dtype": dtype}, None, "cast")

    def flatten(self) -> "Symbol":
        """Two dimensions."""
        return apply(OPERATORS["Flatten"], [self], {}, None, "flatten")

    def split_v2(self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> "Symbol":
        """The symbol cut into equal parts, or at positions."""
        cuts: dict[str, Any] = {"indices": (), "sections": indices_or_sections}
        if not isinstance(indices_or_sections, int):
            cuts = {"indices": (0, *indices_or_sections), "sections": 0}
        attributes = {**cuts, "axis": axis, "squeeze_axis": squeeze_axis}
        return apply(OPERATORS["_split_v2"], [self], attributes, None, "_split_v2")

    def expand_dims(self, axis: int) -> "Symbol":
        """One more axis of size 1."""
        return apply(OPERATORS["expand_dims"], [self], {"axis": axis}, None, "expand_dims")

    def squeeze(self, axis: Any = None) -> "Symbol":
        """Without the axes of size 1."""
        attributes = {} if axis is None else {"axis": axis}
        return apply(OPERATORS["squeeze"], [self], attributes, None, "squeeze")

    def broadcast_to(self, shape: Any) -> "Symbol":
        """Repeated along axes of size 1."""
        return apply(OPERATORS["broadcast_to"], [self], {"shape": shape}, None, "broadcast_to")

    def broadcast_like(self, other: "Symbol") -> "Symbol":
        """Repeated to another symbol's shape."""
        return apply(OPERATORS["broadcast_like"], [self, other], {}, None, "broadcast_like")


class NotImplementedForSymbol(MXNetError):
    """What only arrays can do."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Function {name} is not implemented for Symbol and only available in NDArray.")


def _warn_of_unknown(what: str, note: str, unknown: list[tuple[str, Any]]) -> None:
    lines = "".join(f"\n\t{name}: {known}" for name, known in unknown)
    warnings.warn(
        f"Cannot decide {what} for the following arguments{' ' + note if note else ''}. "
        f"Consider providing them as input:{lines}",
        stacklevel=3,
    )


def _only_of_arrays(name: str) -> Any:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedForSymbol(name)

    method.__name__ = name
    method.__doc__ = "Refused: only arrays have values."
    return method


for _name in ("asnumpy", "asscalar", "as_in_context", "attach_grad", "backward", "copy", "detach", "wait_to_read"):
    setattr(Symbol, _name, _only_of_arrays(_name))


def _moved(copies: dict[int, Any], entry: Entry) -> Entry:
    copy = copies[id(entry[0])]
    return copy if isinstance(copy, tuple) else (copy, entry[1])


def _binary(name: str, left: Symbol, right: Any, with_scalar: str | None = None) -> Symbol:
    if isinstance(right, Symbol):
        return apply(OPERATORS[name], [left, right], {}, None, name)
    return _scalar(f"{name}_scalar", with_scalar or f"{name}scalar", left, right)


def _scalar(name: str, hint: str, symbol: Symbol, number: Any) -> Symbol:
    if not isinstance(number, numeric_types):
        raise TypeError(f"type {type(number)} not supported")
    return apply(OPERATORS[name], [symbol], {"scalar": number}, None, hint)


def apply(operator: Operator, inputs: list[Symbol], attributes: dict[str, Any], name: str | None, hint: str) -> Symbol:
    """A node that applies an operator.

    Raises:
        MXNetError: for an attribute that the operator does not have.
        AssertionError: for an input that is no symbol.
    """
    operator.check({key: value for key, value in attributes.items() if not key.startswith("__")})
    given = current_names().get(name, hint)
    entries: list[Entry] = []
    for symbol in inputs:
        if not isinstance(symbol, Symbol):
            raise AssertionError(f"{operator.name}: inputs must be Symbols, got {type(symbol)}")
        entries.extend(symbol._entries if operator.variadic else symbol._entries[:1])
    attrs = {key: text_of(value) for key, value in attributes.items()}
    if operator.variadic and "num_args" not in attrs:
        attrs["num_args"] = str(len(entries))
    if not operator.variadic:
        # Inputs that were left out become variables, as in `sym.FullyConnected(data, num_hidden=3)`.
        needed = operator.needs(operator.parse(attrs))
        entries += [(Node(None, f"{given}_{left_out}"), 0) for left_out in needed[len(entries) :]]
    node = Node(operator, given, dict(sorted(attrs.items())), entries)
    return Symbol([(node, index) for index in range(node.outputs())])


def var(
    name: str,
    attr: dict[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    profiler_scope: Any = None,
    **kwargs: Any,
) -> Symbol:
    """A variable, with what is known of it.

    Raises:
        TypeError: for a name that is no string.
        ValueError: for a keyword that is no `__attribute__`.
    """
    if not isinstance(name, str):
        raise TypeError("Expect a string for variable `name`")
    attrs = dict(attr or {})
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
        attrs["__storage_type__"] = str({"default": 0, "row_sparse": 1, "csr": 2}[stype])
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
    """Several symbols as one."""
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
        TypeError: for anything but a text.
        MXNetError: for a text that holds no symbol.
    """
    if not isinstance(json_str, str):
        raise TypeError("fname required to be string")
    return Symbol(files.from_json(json_str))


fromjson = load_json
