"""The functions and methods of `mx.sym`, created from the list of operators."""

import keyword
from collections.abc import Callable, Mapping
from typing import Any

from ..ndarray.register import METHODS
from ..operators import OPERATORS, Operator
from ..state import state
from .symbol import Symbol, apply


def call(operator: Operator, hint: str, args: tuple, name: str | None, attributes: dict[str, Any]) -> Symbol:
    """Apply an operator to symbols and attributes, which are positional or keywords.

    Raises:
        AssertionError: for an input that is not a symbol.
        TypeError: for too many arguments.
    """
    inputs: list[Symbol | None] = [value for value in args if isinstance(value, Symbol)]
    # In MXNet 1.9.1 these three are positional arguments after the attributes (inspect.signature of mx.sym.flatten).
    places = [*operator.inputs, *operator.defaults, "name", "attr", "out"]
    named: dict[str, Any] = {}
    if operator.variadic:
        if len(inputs) != len(args):
            raise AssertionError(f"{operator.name}: inputs must be Symbols, got {args}")
    else:
        by_name: dict[str, Any] = {}
        for place, value in enumerate(args):
            if place >= len(places):
                raise TypeError(f"{operator.name} takes {len(places)} arguments, got {len(args)}")
            if places[place] in ("name", "attr", "out") and value is None:
                continue
            (by_name if places[place] in operator.inputs else named)[places[place]] = value
        for key in operator.inputs:
            if key in attributes:
                by_name[key] = attributes.pop(key)
        inputs = [by_name.get(key) for key in operator.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
    named.update(attributes)
    if name is not None and "name" in named:
        raise TypeError(f"{operator.name} got multiple values for argument 'name'")
    name = named.pop("name", name)
    named.pop("out", None)  # `out` has no effect on symbols, as in MXNet 1.9.1 (recorded)
    kept = {key: value for key, value in named.items() if key not in operator.inputs or operator.variadic}
    return apply(operator, inputs, kept, name, hint)


def function_of(operator: Operator, known_as: str) -> Callable[..., Symbol]:
    """The operator as a function of symbols."""
    hint = known_as.lower()

    def function(*args: Any, name: str | None = None, **attributes: Mapping[str, Any]) -> Symbol:
        return call(operator, hint, args, name, attributes)

    function.__name__ = function.__qualname__ = known_as
    function.__doc__ = f"The operator {operator.name} on symbols: {', '.join(operator.inputs)}; then its attributes."
    return function


FUNCTIONS = {name: function_of(operator, name) for name, operator in OPERATORS.items() if not keyword.iskeyword(name)}
PUBLIC = {name: function for name, function in FUNCTIONS.items() if not name.startswith("_")}


def method_of(known_as: str) -> Callable[..., Symbol]:
    """An operator as a method. The symbol is its first input. Under `npx.set_np` it has the arithmetic of `mx.np`."""

    def method(self: Symbol, *args: Any, name: str | None = None, **attributes: Mapping[str, Any]) -> Symbol:
        names = (f"_np_{known_as}", f"_npi_{known_as}", known_as) if state.numpy else (known_as,)
        operator = next(OPERATORS[each] for each in names if each in OPERATORS)
        return call(operator, known_as.lower(), (self, *args), name, attributes)

    method.__name__ = known_as
    method.__qualname__ = f"Symbol.{known_as}"
    method.__doc__ = f"`mx.sym.{known_as}` of this symbol."
    return method


for _name in (*METHODS, "broadcast_like"):
    setattr(Symbol, _name, method_of(_name))
