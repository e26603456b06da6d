"""One axis."""

from __future__ import annotations

from typing import Any

from ...functions.array.reshape import reshape
from ...variable import Variable


def flatten(x: Any) -> Variable:
    """The same elements along one axis."""
    return reshape(x, (x.size,))
