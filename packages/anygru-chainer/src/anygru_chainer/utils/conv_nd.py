"""Numbers for each axis of a convolution."""

from collections.abc import Sequence

Ints = int | Sequence[int]
"""One number for all axes, or one each."""


def as_tuple(value: Ints, n: int) -> tuple[int, ...]:
    """`value` for each of n axes, or the n values that it is (AssertionError for another number of them)."""
    if isinstance(value, int):
        return (value,) * n
    assert len(value) == n, f"expected one number, or one for each of {n} axes, got {value}"
    return tuple(value)
