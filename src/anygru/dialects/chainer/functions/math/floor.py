"""Rounding down."""

from __future__ import annotations

from typing import Any

from ... import backend
from ...utils import force_array
from ...variable import Variable, as_array, as_variable


def floor(x: Any) -> Variable:
    """The largest integers below, in the dtype of `x`; no gradient flows back."""
    array = as_array(x)
    return as_variable(force_array(backend.get_array_module(array).floor(array), array.dtype))
