"""Flat lists for nested lists of arrays, with a description of the nesting: 0 for an array, -1 for None, a list for a list."""

from typing import Any

from ..context import Context
from ..ndarray.ndarray import NDArray
from .symbol import Symbol

Data = NDArray | Symbol

# The first word of errors about a block's inputs and outputs.
INPUT = "When hybridized, the input of HybridBlock input"
OUTPUT = "When hybridized, the input of HybridBlock output"


def flatten(value: Any, what: str) -> tuple[list, Any]:
    """The arrays (or symbols) in a value, and a description of their nesting.

    Args:
        value: an array, a symbol, None, or a nested list or tuple of them.
        what: the value's name in errors.

    Raises:
        ValueError: for another class.
    """
    if isinstance(value, NDArray):
        return [value], 0
    if isinstance(value, Symbol):
        return [value], len(value) if len(value) > 1 else 0
    if value is None:
        return [None], -1
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{what} must be (nested) list of Symbol or NDArray, but got {value} of type {type(value)}")
    flat, form = [], []
    for part in value:
        inner, inner_form = flatten(part, what)
        flat.extend(inner)
        form.append(inner_form)
    return flat, form


def regroup(flat: list, form: Any) -> Any:
    """The nested value for a flat list."""
    value, _ = take(list(flat), form)
    return value


def take(flat: list, form: Any) -> tuple[Any, list]:
    """The nested value, and the remaining items of a longer list."""
    if isinstance(form, int):
        if form <= 0:
            if form == -1 and flat[0] is not None:
                raise ValueError(
                    "We do not support passing types that are not None when the initial HybridBlock has received NoneType "
                    f"and has been hybridized. Received arg = {flat[0]}, fmt = {form}."
                )
            return flat[0], flat[1:]
        return flat[:form], flat[form:]
    parts = []
    for inner in form:
        part, flat = take(flat, inner)
        parts.append(part)
    return parts, flat


def same_form(stored: list, given: list) -> bool:
    """Whether two descriptions agree, except for Nones at the end."""
    shorter, longer = sorted((stored, given), key=len)
    return longer[: len(shorter)] == shorter and all(form == -1 for form in longer[len(shorter) :])


def look(value: Any, contexts: list[Context]) -> tuple[bool, bool]:
    """Whether a nested value contains symbols, and whether it contains arrays. The arrays' contexts are appended to a list."""
    if isinstance(value, NDArray):
        contexts.append(value._ctx)
        return False, True
    if isinstance(value, Symbol):
        return True, False
    symbols = arrays = False
    if isinstance(value, (list, tuple)):
        for part in value:
            has_symbol, has_array = look(part, contexts)
            symbols, arrays = symbols or has_symbol, arrays or has_array
    return symbols, arrays
