"""Adding along leading axes."""

from __future__ import annotations

from typing import Any

from ...functions.array.broadcast import broadcast_to
from ...functions.array.reshape import reshape
from ...variable import Variable


def aligned(x: Any, y: Any, axis: int) -> Variable:
    """`y` broadcast to the shape of `x` with its axes at `axis` of `x`."""
    shape = (1,) * axis + tuple(y.shape) + (1,) * (len(x.shape) - axis - len(y.shape))
    return broadcast_to(reshape(y, shape), x.shape)


def bias(x: Any, y: Any, axis: int = 1) -> Variable:
    """`x + y` with the axes of `y` at `axis` of `x`."""
    return x + aligned(x, y, axis)
