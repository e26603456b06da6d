"""Checks of keyword arguments, with the messages for keywords of earlier releases."""

import inspect
from typing import Any

from anygru.extend import near


def check_unexpected_kwargs(kwargs: dict[str, Any], **unexpected: str) -> None:
    """Raise ValueError with the given message if one of the named (removed) keywords was passed."""
    for name, message in unexpected.items():
        if name in kwargs:
            raise ValueError(message)


def parse_kwargs(kwargs: dict[str, Any], *name_and_values: tuple[str, Any], **unexpected: str) -> tuple[Any, ...]:
    """Take the named keywords out of `kwargs`, with defaults.

    Raises ValueError for a removed keyword and TypeError for any other remaining keyword.
    """
    values = tuple(kwargs.pop(name, default) for name, default in name_and_values)
    if kwargs:
        check_unexpected_kwargs(kwargs, **unexpected)
        names = ", ".join(repr(name) for name in sorted(kwargs))
        # The message names the function that was called, as Python's own would.
        frame = inspect.currentframe()
        caller = frame.f_back.f_code.co_name if frame is not None and frame.f_back is not None else "function"
        hint = near(min(kwargs), (name for name, _ in name_and_values))
        raise TypeError(f"{caller}() got unexpected keyword argument(s) {names}{hint}")
    return values


def assert_kwargs_empty(kwargs: dict[str, Any]) -> None:
    """Raise TypeError if any keyword is left."""
    parse_kwargs(kwargs)
