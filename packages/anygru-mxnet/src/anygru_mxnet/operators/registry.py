"""The list of operators for `mx.nd`, `mx.sym` and the methods of arrays and symbols.

An operator is a function on torch tensors. Its first parameters are inputs, the others attributes, with MXNet's names. A call, a
node of a symbol and an entry of an exported file therefore have the same meaning.
"""

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anygru.extend import near

from ..base import MXNetError, Sizes

Shape = tuple[int, ...] | None

OPERATORS: dict[str, "Operator"] = {}


@dataclass(eq=False)
class Operator:
    """An operator: its function on tensors, and its form in symbols.

    Attributes:
        name: MXNet's name, as in exported files.
        compute: the function on tensors.
        count: the number of the function's parameters that are inputs, unless it is variadic.
        places: the number of positional arguments, unless it is variadic.
        inputs: names of the tensor arguments. A variadic operator has one name for all of them.
        variadic: whether it takes any number of tensors.
        required: the inputs without a default.
        attributes: names of the other arguments. mandatory: those that a symbol must get: without a default, and `demands`.
        copies: whether the result may share memory with an input, so that `mx.nd` has to copy it.
        visible: number of results, or a function of the attributes.
        hidden: further results that MXNet counts in a file, but does not return by default.
        auxiliary: inputs that are states rather than arguments (running means).
        needs: the inputs that a symbol creates as variables if they are missing, from the attributes; None: the required inputs.
        infer: the inputs' shapes, given attributes and the shapes known so far: None for an unknown shape, 0 for an unknown size.
        output_names: names of the results, or a function from a number to a name; by default "output" for a single result and
            "output0", "output1" for several.
        alike: whether all inputs and results have the same shape.
        pointwise: whether each element of the result depends on one element of each input, which may broadcast.
        rows: whether each row of the result is computed from the same row of the first input only.
        back: the inputs' shapes that the results' shapes imply, from the attributes and the shapes of inputs and results.
        begins: the default initializers of variables that are inputs.
        loss: whether its gradients ignore the upstream gradient.
        infer_types: the dtypes of inputs and results from the known dtypes of inputs; None means the tables of `symbol/types.py`.
        wires: for an operator that contains graphs: the input for each variable of each graph, from the attributes.
    """

    name: str
    compute: Callable[..., Any]
    count: int = 1
    copies: bool = False
    visible: int | Callable[[Mapping[str, Any]], int] = 1
    hidden: int = 0
    auxiliary: tuple[str, ...] = ()
    needs: Callable[[Mapping[str, Any]], list[str]] | None = None
    infer: Callable[[Mapping[str, Any], list[Shape]], list[Shape]] | None = None
    output_names: tuple[str, ...] | Callable[[int], str] = ()
    alike: bool = False
    pointwise: bool = False
    rows: bool = False
    back: Callable[[Mapping[str, Any], list[Shape], list[Shape]], list[Shape]] | None = None
    begins: Mapping[str, str] = field(default_factory=dict)
    wires: Callable[[Mapping[str, Any]], list[list[int]]] | None = None
    loss: bool = False
    infer_types: Callable[[list], tuple[list, list]] | None = None
    demands: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parameters = list(inspect.signature(self.compute).parameters.values())
        self.variadic = bool(parameters) and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
        count = 1 if self.variadic else self.count
        self.places = len(parameters)
        self.inputs = tuple(p.name for p in parameters[:count])
        self.required = tuple(p.name for p in parameters[:count] if p.default is inspect.Parameter.empty)
        self.defaults = {p.name: p.default for p in parameters[count:]}
        self.attributes = frozenset(self.defaults)
        plain = [p for p in parameters[count:] if p.kind is not inspect.Parameter.VAR_KEYWORD]
        self.mandatory = [p.name for p in plain if p.default is inspect.Parameter.empty] + [*self.demands]
        flags_and_numbers = {
            bool: bool,
            bool | None: bool,
            int: int,
            int | None: int,
            float: float,
            float | None: float,
        }
        self.kinds = {p.name: kind for p in parameters[count:] if (kind := flags_and_numbers.get(p.annotation))}
        self.checked = not self.variadic and (self.needs is not None or self.infer is not None)

    def outputs(self, attributes: Mapping[str, Any]) -> int:
        """The number of results of a call with these attributes."""
        return self.visible if isinstance(self.visible, int) else self.visible(attributes)

    def needed(self, attributes: Mapping[str, Any]) -> list[str]:
        """The inputs that a symbol creates as variables if they are missing."""
        return list(self.required) if self.needs is None else self.needs(attributes)

    def counted(self, attributes: Mapping[str, Any]) -> int:
        """The number of results in a file for a call with these attributes."""
        return max(self.outputs(attributes), 1 + self.hidden)

    def check(self, attributes: Mapping[str, Any]) -> None:
        """Raise an error for an unknown attribute.

        Raises:
            MXNetError: naming the attribute and the known ones.
        """
        if not self.attributes and not self.variadic:
            return  # MXNet does not check attributes in this case (recorded from 1.9.1)
        for key in attributes:
            if key.startswith("__") and key.endswith("__"):
                continue  # an attribute of a symbol's node, which MXNet's functions of arrays also accept (1.9.1, recorded)
            if key not in self.attributes and not (self.variadic and key == "num_args"):
                raise MXNetError(
                    f"{self.name}: Cannot find argument '{key}', Possible Arguments: "
                    f"{', '.join(sorted(self.attributes))}{near(key, self.attributes)}"
                )

    def expect(self, given: int, attributes: Mapping[str, Any]) -> None:
        """Raise an error for a wrong number of inputs. For a loop the graphs are also counted.

        Raises:
            MXNetError: naming both numbers.
        """
        if self.variadic:
            wanted = int(attributes.get("num_args", given)) if self.wires is None else given
            names = ""
        else:
            needed = self.inputs[:given] if self.needs is None else self.needs(attributes)
            wanted, names = len(needed), f" ({', '.join(needed)})"
        if given != wanted:
            raise MXNetError(f"Operator {self.name} expects {wanted} inputs{names}, but got {given} instead.")

    def fit(self, attributes: Mapping[str, Any], shapes: list[Shape]) -> None:
        """Raise an error for inputs that do not have the number and the shapes that the attributes imply.

        Args:
            attributes: the given attributes.
            shapes: of the inputs given.

        Raises:
            MXNetError: naming the expected and the given shape, or the missing attribute.
        """
        self.expect(len(shapes), attributes)
        if self.infer is None:
            return
        try:
            implied = self.infer(attributes, shapes)
        except KeyError as missing:
            raise MXNetError(
                f"Required parameter {missing.args[0]} is not presented, in operator {self.name}"
            ) from missing
        for name, have, need in zip(self.inputs, shapes, implied, strict=False):
            if have is not None and need is not None and have != need and not _agree(have, need):
                raise MXNetError(f"{self.name}: {name} must be of shape {tuple(need)}, got {tuple(have)}")

    def parse(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """The attributes of a node as values, from the texts that a symbol file holds."""
        given = {key: value for key, value in texts.items() if not (key.startswith("__") or self._is_of_node(key))}
        self.check(given)
        values = {key: value_of(text, key) for key, text in given.items() if key in self.attributes}
        for key in values.keys() & self.kinds.keys():
            self._check_kind(key, given[key], values[key])
        return values

    def _is_of_node(self, key: str) -> bool:
        """Whether an attribute describes the node. In files before MXNet 0.9 its name has no underscores (1.9.1 reads these
        files)."""
        return key not in self.attributes and any(key == word or key.endswith(f"_{word}") for word in _OF_NODES)

    def _check_kind(self, key: str, text: str, value: Any) -> None:
        """Raise an error for a text that MXNet 1.9.1 cannot parse as the attribute's type (recorded).

        Raises:
            MXNetError: for a text that is not a flag or not an integer.
        """
        kind = self.kinds[key]
        if kind is bool:
            good = str(text).strip().lower() in _FLAGS
        else:
            good = type(value) in ((int,) if kind is int else (int, float)) or (kind is float and is_float(text))
        if not good and value is not None:
            wanted = "boolean" if kind is bool else kind.__name__
            raise MXNetError(f"Invalid Parameter format for {key} expect {wanted} but value='{str(text)[:60]}'")


def is_float(text: Any) -> bool:
    """Whether a text, such as "inf", is a number. A flag is not a number."""
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _agree(have: tuple[int, ...], need: tuple[int, ...]) -> bool:
    """Whether two shapes agree. 0 is an unknown size."""
    return len(have) == len(need) and all(not a or not b or a == b for a, b in zip(have, need, strict=True))


MOST_AXES = 64
"""The limit of NumPy and torch."""
_LONGEST = 1 << 16
"""Attributes in MXNet's files have some hundred characters. Python's parser takes a kilobyte of memory for each character."""


def value_of(text: Any, name: str) -> Any:
    """The value of an attribute from its text; a text that is not a Python literal is returned unchanged.

    Raises:
        MXNetError: for a text that is too long to be an attribute of a network.
    """
    if not isinstance(text, str):
        return text
    if len(text) > _LONGEST:
        raise MXNetError(f"attribute {name} has {len(text)} letters ({text[:20]}...), expected at most {_LONGEST}")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two for text nested too deeply
        return text


def operator(name: str, *aliases: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function on tensors as the operator `name`, and under the aliases; `facts` are fields of `Operator`,
    and `inputs` is its `count`."""

    def register(compute: Callable[..., Any]) -> Callable[..., Any]:
        count = facts.pop("inputs", 1)
        entry = Operator(name, compute, count, **facts)
        for known in (name, *aliases):
            if known in OPERATORS:
                raise ValueError(f"operator {known} is registered twice")
            OPERATORS[known] = entry
        return compute

    return register


_OF_NODES = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")
_FLAGS = {"true": True, "1": True, "false": False, "0": False, "none": False}


def truth(value: Any) -> bool:
    """Convert a flag given as a bool, a number or a text.

    Raises:
        MXNetError: for a text that is not a flag.
    """
    if not isinstance(value, str):
        return bool(value)
    if value.strip().lower() not in _FLAGS:
        raise MXNetError(f"Invalid Parameter format: expect boolean but value='{value[:60]}'")
    return _FLAGS[value.strip().lower()]


def as_tuple(value: Any) -> tuple:
    """A tuple of the items, or of a single value."""
    several = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim)
    return tuple(value) if several else (value,)


def axes_of(axis: Sizes, ndim: int, exclude: bool = False) -> tuple[int, ...]:
    """Non-negative axes from None, a number or a tuple. None and an empty tuple mean all axes.

    Raises:
        MXNetError: for an axis that the array does not have.
    """
    if axis is None or (isinstance(axis, (tuple, list)) and not axis):
        return tuple(range(ndim))  # also with exclude: all axes are reduced (MXNet 1.9.1, recorded)
    given = (axis,) if not isinstance(axis, (tuple, list)) else axis
    chosen = tuple(one_axis(int(a), ndim) for a in given)
    return tuple(a for a in range(ndim) if a not in chosen) if exclude else chosen


def one_axis(axis: int, ndim: int) -> int:
    """A non-negative axis.

    Raises:
        MXNetError: for an axis that the array does not have.
    """
    if not -ndim <= axis < ndim:
        raise MXNetError(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim
