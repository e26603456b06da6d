"""Fans: how many values a weight's unit reads (fan in) and feeds (fan out)."""

import math
from collections.abc import Sequence


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Fan in and fan out of a weight [out, in, *window]; each position of the window counts."""
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window
