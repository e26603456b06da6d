"""Maxout."""

from __future__ import annotations

from typing import Any

from ...functions.array.reshape import reshape
from ...functions.math import minmax
from ...utils import type_check
from ...variable import Variable


def maxout(x: Any, pool_size: int, axis: int = 1) -> Variable:
    """The largest of each `pool_size` neighbours along an axis.

    Raises:
        ValueError: `pool_size` is not positive.
        InvalidType: the axis cannot be divided by `pool_size`.
    """
    if pool_size <= 0:
        raise ValueError("pool_size must be a positive integer.")
    if x.shape[axis] % pool_size:
        raise type_check.InvalidType(
            "x.shape[axis] % pool_size == 0",
            f"x.shape[axis]={x.shape[axis]}, pool_size={pool_size}",
            "axis dimension must be divided by pool_size",
        )
    pooled = (*x.shape[:axis], x.shape[axis] // pool_size, pool_size, *x.shape[axis + 1 :])
    return minmax.max(reshape(x, pooled), axis=axis + 1)
