"""Fans: the number of inputs of a weight's unit (fan in) and of the units that read it (fan out)."""

import math
from collections.abc import Sequence


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Fan in and fan out of a weight [out, in, *window]; each position of the window counts."""
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window
