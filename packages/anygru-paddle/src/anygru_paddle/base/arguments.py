"""Argument lists of the original, written once as names with defaults, `...` for a required argument."""

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from anygru.extend import bound


def signature(**defaults: Any) -> inspect.Signature:
    """The signature of these arguments, in this order."""
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return inspect.Signature(
        [inspect.Parameter(name, kind, default=empty if value is ... else value) for name, value in defaults.items()]
    )


def function_of(name: str, compute: Callable[[SimpleNamespace], Any], /, **defaults: Any) -> Callable[..., Any]:
    """A function with these arguments, which `compute` gets as attributes of an object."""
    own = signature(**defaults)

    def function(*args: Any, **kwargs: Any) -> Any:
        return compute(SimpleNamespace(**bound(own, name, args, kwargs).arguments))

    function.__signature__ = own  # type: ignore[attr-defined]
    return function


def initializer(build: Callable[[Any, SimpleNamespace], None], **defaults: Any) -> Callable[..., None]:
    """An `__init__` with these arguments, which `build` gets after `self`, as attributes of one object."""
    own = signature(**defaults)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        build(self, SimpleNamespace(**bound(own, f"{type(self).__name__}.__init__", args, kwargs).arguments))

    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = own.replace(parameters=[me, *own.parameters.values()])  # type: ignore[attr-defined]
    return __init__
