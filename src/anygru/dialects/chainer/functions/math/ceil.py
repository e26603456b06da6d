"""Rounding up."""

from __future__ import annotations

from typing import Any

from ... import backend
from ...utils import force_array
from ...variable import Variable, as_array, as_variable


def ceil(x: Any) -> Variable:
    """The smallest integers above, in the dtype of `x`; no gradient flows back."""
    array = as_array(x)
    return as_variable(force_array(backend.get_array_module(array).ceil(array), array.dtype))
