"""Functions that Python removed from the standard library."""

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple


class ArgSpec(NamedTuple):
    """The result of `getargspec`."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Names and defaults of a function's parameters; ValueError if it has annotations or keyword-only ones."""
    full = inspect.getfullargspec(func)
    if full.kwonlyargs or full.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API which can support them"
        )
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor with the sign of b (of a if b is zero), of whole numbers of any type."""
    if type(a) is int is type(b):
        return -math.gcd(a, b) if (b or a) < 0 else math.gcd(a, b)
    while b:
        a, b = b, a % b
    return a


maketrans = str.maketrans
lower, upper, strip, split, replace = str.lower, str.upper, str.strip, str.split, str.replace


def join(words: Any, sep: str = " ") -> str:
    """The words with a separator between them."""
    return sep.join(words)


def atoi(s: str, base: int = 10) -> int:
    """Convert a string to an integer."""
    return int(s, base)


def atof(s: str) -> float:
    """Convert a string to a float."""
    return float(s)
