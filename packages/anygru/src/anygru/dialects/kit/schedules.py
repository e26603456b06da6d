"""Learning rates as formulas of the step, in the order of operations that the originals share: equal to the last bit."""

import math


def cosine(first: float, last: float, step: float, length: float) -> float:
    """From `first` at step 0 to `last` at step `length` along half a cosine, and up again (Loshchilov and Hutter, 2017)."""
    return last + (first - last) * (1 + math.cos(math.pi * step / length)) / 2


def polynomial(first: float, last: float, step: float, length: float, power: float) -> float:
    """From `first` at step 0 to `last` at step `length` along a power of the share of steps left."""
    return (first - last) * (1 - step / length) ** power + last
