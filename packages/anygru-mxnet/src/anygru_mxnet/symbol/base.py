"""The base class of symbols: names, attributes, shapes and dtypes of the graph, and methods that run and write it."""

import warnings
from collections.abc import Iterator
from typing import Any, TypeVar

from ..base import DtypeLike, MXNetError, NotImplementedForSymbol, Sizes
from ..context import Context, current_context
from ..executor import Executor
from ..ndarray.array import wrap
from ..ndarray.ndarray import NDArray
from ..state import state
from . import files, infer, sizing, types
from .node import HIDDEN, Entry, Node, topological

Own = TypeVar("Own", bound="SymbolBase")


def _lacks(shape: tuple[int, ...] | None) -> bool:
    """Whether sizes are unknown: 0 is an unknown size, and () an unknown shape except for arrays of `mx.np`."""
    return shape is None or 0 in shape or not (shape or state.numpy)


class SymbolBase:
    """One or more outputs of a graph of operators, without the operators' methods."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    @property
    def name(self) -> str | None:
        """The name of the node, None for a group."""
        nodes = {id(node) for node, _ in self._entries}
        return self._entries[0][0].name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        name, kind = self.name, "_Symbol" if state.numpy else "Symbol"  # MXNet's class for graphs of `mx.np`
        if name is None:
            return f"<{kind} group [{', '.join(part.name or '' for part in self)}]>"
        return f"<{kind} {name}>"

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(self.__bool__, "bool")

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self: Own) -> Iterator[Own]:
        return (type(self)([entry]) for entry in self._entries)

    def __getitem__(self: Own, index: Any) -> Own:
        if isinstance(index, str):
            found = [i for i, name in enumerate(self.list_outputs()) if name == index]
            if len(found) != 1:
                raise ValueError(f"Cannot find output that matches name {index}")
            return type(self)([self._entries[found[0]]])
        if isinstance(index, slice):
            return type(self)(self._entries[index])
        if not isinstance(index, int):
            raise TypeError("Symbol only support integer index to fetch i-th output")
        if index >= len(self._entries):
            raise IndexError("Index out of range")
        return type(self)([self._entries[index]])

    def _nodes(self) -> list[Node]:
        return topological(node for node, _ in self._entries)

    def _auxiliary(self) -> set[int]:
        return _auxiliary(self._nodes())

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return [node.name for node in self._nodes() if node.operator is None]

    def list_arguments(self) -> list[str]:
        """Names of the variables, without auxiliary states."""
        auxiliary = self._auxiliary()
        return [node.name for node in self._nodes() if node.operator is None and id(node) not in auxiliary]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states that operators keep, such as running means."""
        auxiliary = self._auxiliary()
        return [node.name for node in self._nodes() if id(node) in auxiliary]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return [node.output_name(index) for node, index in self._entries]

    def get_internals(self: Own) -> Own:
        """All outputs of all nodes, as a group."""
        return type(self)([(node, index) for node in self._nodes() for index in range(node.outputs())])

    def get_children(self: Own) -> Own | None:
        """The inputs of the node, as a group."""
        below = self._entries[0][0].inputs
        return type(self)(list(below)) if below else None

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self._entries)

    def as_np_ndarray(self: Own) -> Own:
        """The symbol itself: one class serves `mx.sym` and `mx.sym.np`."""
        return self

    as_nd_ndarray = as_np_ndarray

    def attr(self, key: str) -> str | None:
        """The text of an attribute."""
        return self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The attributes of the node.

        Raises:
            DeprecationWarning: for `recursive`, as in MXNet.
        """
        if recursive:
            raise DeprecationWarning("Symbol.list_attr with recursive=True has been deprecated: use attr_dict instead")
        return _visible_attributes(self._entries[0][0].attrs)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of each node with attributes."""
        return {node.name: _visible_attributes(node.attrs) for node in self._nodes() if node.attrs}

    def infer_shape(self, *args: Any, **known: Any) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states, from some arguments' shapes by name or order.

        If some do not follow, the result is three times None, and a warning names the arguments.

        Raises:
            MXNetError: for shapes that do not fit together, and unknown names.
            TypeError: for a shape that is not a tuple.
        """
        found = self.shapes(args, known)
        unknown = [
            (name, shape or ()) for name, shape in zip(self.list_arguments(), found[0], strict=True) if _lacks(shape)
        ]
        if unknown:
            _warn_about_unknown("shape", "(0s in shape means unknown dimensions)", unknown)
        return (None, None, None) if any(_lacks(shape) for part in found for shape in part) else found

    def infer_shape_partial(self, *args: Any, **known: Any) -> tuple[list, list, list]:
        """As `infer_shape`, with 0 for unknown sizes and () for unknown shapes."""
        found = self.shapes(args, known)
        arguments, results, states = (
            [None if shape is None else tuple(size or -1 for size in shape) for shape in part]
            if state.numpy
            else [shape or () for shape in part]
            for part in found
        )
        return arguments, results, states

    def shapes(self, args: tuple, known: dict[str, Any]) -> tuple[list, list, list]:
        """Infer the shapes of arguments, outputs and states, with 0 for unknown sizes and None for unknown shapes."""
        known = self._by_name("shape", args, known)
        for name, shape in known.items():
            if not isinstance(shape, tuple):
                raise TypeError(f"Arguments need to be shapes (tuple), but '{name}' is {type(shape)}.")
        if state.numpy:  # in that mode an unknown size is -1, and an unknown shape is None
            known = {name: tuple(max(size, 0) for size in shape) for name, shape in known.items()}
        found = infer.shapes(self._entries, known)
        variables = {node.name: found.of((node, 0)) for node in self._nodes() if node.operator is None}
        return (
            [variables[name] for name in self.list_arguments()],
            [found.of(entry) for entry in self._entries],
            [variables[name] for name in self.list_auxiliary_states()],
        )

    def infer_type(self, *args: Any, **known: Any) -> tuple[Any, Any, Any]:
        """Dtypes of arguments, outputs and auxiliary states, from some arguments' dtypes by name or order.

        If some do not follow, the result is three times None, and a warning names the arguments.

        Raises:
            MXNetError: for dtypes that do not fit together, and unknown names.
        """
        found = self.infer_type_partial(*args, **known)
        unknown = [(name, None) for name, kind in zip(self.list_arguments(), found[0], strict=True) if kind is None]
        if unknown:
            _warn_about_unknown("type", "", unknown)
        return (None, None, None) if any(kind is None for part in found for kind in part) else found

    def infer_type_partial(self, *args: Any, **known: Any) -> tuple[list, list, list]:
        """As `infer_type`, with None for unknown dtypes."""
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
        """Compute the outputs from arrays by the arguments' names."""
        context = ctx or current_context()
        program = sizing.ready(self._entries)
        missing = [name for name in program.variables if name not in arrays]
        if missing:
            raise ValueError(f"eval: no values for {', '.join(missing)}")
        with context:
            results = program.run([arrays[name]._t for name in program.variables])
        return [wrap(values, context) for values in results]

    def bind(
        self,
        ctx: Context,
        args: Any,
        args_grad: Any = None,
        grad_req: Any = "write",
        aux_states: Any = None,
        group2ctx: Any = None,
        shared_exec: Any = None,
    ) -> Executor:
        """An executor on the given arrays, which are lists in the arguments' order or dicts by their names."""
        return Executor.bound(self, sizing.ready(self._entries), ctx, args, args_grad, grad_req, aux_states)

    def simple_bind(
        self,
        ctx: Context,
        grad_req: Any = "write",
        type_dict: dict[str, DtypeLike] | None = None,
        stype_dict: Any = None,
        group2ctx: Any = None,
        shared_arg_names: Any = None,
        shared_exec: Any = None,
        shared_buffer: Any = None,
        **kwargs: Sizes,
    ) -> Executor:
        """An executor on arrays of zeros, from the shapes of some arguments by name.

        Raises:
            RuntimeError: for every failure, as in MXNet, with the arguments.
        """
        try:
            return Executor.allocated(self, sizing.ready(self._entries), ctx, grad_req, type_dict, kwargs)
        except (MXNetError, ValueError, TypeError) as error:
            arguments = "".join(f"{name}: {shape}\n" for name, shape in kwargs.items())
            raise RuntimeError(f"simple_bind error. Arguments:\n{arguments}{error}") from error

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph in the format of MXNet's symbol files."""
        return files.to_json(self._entries)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Write the graph to a file that MXNet reads."""
        files.save(fname, self.tojson())

    def __copy__(self: Own) -> Own:
        return type(self)(list(self._entries))

    def __call__(self: Own, **symbols: Own) -> Own:
        return self.compose(symbols)

    def compose(self: Own, symbols: dict[str, Own]) -> Own:
        """The same graph with symbols that replace variables."""
        copies: dict[int, Entry | Node] = {}
        for node in self._nodes():
            if node.operator is None and node.name in symbols:
                copies[id(node)] = symbols[node.name]._entries[0]
            elif node.operator is None:
                copies[id(node)] = node
            else:
                moved = [_replaced(copies, entry) for entry in node.inputs]
                copies[id(node)] = Node(node.operator, node.name, node.attrs, moved, node.graphs)
        return type(self)([_replaced(copies, entry) for entry in self._entries])


def _auxiliary(nodes: list[Node]) -> set[int]:
    """The ids of the auxiliary variables, including variables in loops' graphs."""
    found = set()
    for node in nodes:
        if node.operator is not None and node.operator.auxiliary:
            for name, (below, _) in zip(node.operator.inputs, node.inputs, strict=False):
                if name in node.operator.auxiliary:
                    found.add(id(below))
        for heads, variables, places in node.wires():
            inner = _auxiliary(topological(below for below, _ in heads))
            pairs = zip(variables, places, strict=True)
            found |= {id(node.inputs[place][0]) for variable, place in pairs if id(variable) in inner}
    return found


def _visible_attributes(attrs: dict[str, str]) -> dict[str, str]:
    """Attributes. Attributes between underscores are also listed under their plain names."""
    return attrs | {key: attrs[f"__{key}__"] for key in HIDDEN if f"__{key}__" in attrs}


def _warn_about_unknown(what: str, note: str, unknown: list[tuple[str, Any]]) -> None:
    lines = "".join(f"\n\t{name}: {known}" for name, known in unknown)
    warnings.warn(
        f"Cannot decide {what} for the following arguments{' ' + note if note else ''}. "
        f"Consider providing them as input:{lines}",
        stacklevel=3,
    )


def _replaced(copies: dict[int, Any], entry: Entry) -> Entry:
    copy = copies[id(entry[0])]
    return copy if isinstance(copy, tuple) else (copy, entry[1])
