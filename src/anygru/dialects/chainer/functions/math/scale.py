"""Multiplying along leading axes."""

from __future__ import annotations

from typing import Any

from ...functions.math.bias import aligned
from ...variable import Variable


def scale(x: Any, y: Any, axis: int = 1) -> Variable:
    """`x * y` with the axes of `y` at `axis` of `x`."""
    return x * aligned(x, y, axis)
