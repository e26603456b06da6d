"""Arguments of functions that are made from a table, whose errors Python cannot word."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import near


def bound(
    by: inspect.Signature, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, defaults: bool = True
) -> inspect.BoundArguments:
    """The arguments of a call by their names.

    Args:
        by: the signature of the function.
        function: its name for the error.
        args: the arguments by position.
        kwargs: the arguments by name.
        defaults: whether the defaults of other arguments are included.

    Raises:
        TypeError: they do not fit, as Python says it; for an unknown name with the near one, as Python says it since 3.13.
    """
    try:
        found = by.bind(*args, **kwargs)
    except TypeError as error:
        unknown = next((name for name in kwargs if name not in by.parameters), None)
        raise TypeError(f"{function}() {error}" + ("" if unknown is None else near(unknown, by.parameters))) from None
    if defaults:
        found.apply_defaults()
    return found
