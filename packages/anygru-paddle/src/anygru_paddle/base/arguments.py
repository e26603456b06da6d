"""Argument lists of the original, written once as names with defaults, `...` for a required argument."""

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def signature(**defaults: Any) -> inspect.Signature:
    """The signature of these arguments, in this order."""
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return inspect.Signature(
        [inspect.Parameter(name, kind, default=empty if value is ... else value) for name, value in defaults.items()]
    )


def given(by: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, defaults included. Raises TypeError where they do not fit."""
    bound = by.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def function_of(compute: Callable[[SimpleNamespace], Any], **defaults: Any) -> Callable[..., Any]:
    """A function with these arguments, which `compute` gets as attributes of an object."""
    own = signature(**defaults)

    def function(*args: Any, **kwargs: Any) -> Any:
        return compute(SimpleNamespace(**given(own, args, kwargs)))

    function.__signature__ = own  # type: ignore[attr-defined]
    return function


def initializer(build: Callable[[Any, SimpleNamespace], None], **defaults: Any) -> Callable[..., None]:
    """An `__init__` with these arguments, which `build` gets after `self`, as attributes of one object."""
    own = signature(**defaults)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        build(self, SimpleNamespace(**given(own, args, kwargs)))

    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = own.replace(parameters=[me, *own.parameters.values()])  # type: ignore[attr-defined]
    return __init__
