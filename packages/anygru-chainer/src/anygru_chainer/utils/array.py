"""Shape arithmetic on arrays."""

import math
from collections.abc import Iterable
from typing import Any


def size_of_shape(shape: Iterable[int]) -> int:
    """Number of elements of an array of this shape."""
    return int(math.prod(shape))


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Sum an array over the axes along which `shape` was broadcast to `x.shape`."""
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    stretched = tuple(axis + lead for axis, size in enumerate(shape) if size == 1)
    return x.sum(axis=tuple(range(lead)) + stretched, keepdims=True).reshape(shape)


def as_vec(x: Any) -> Any:
    """The array with one axis."""
    return x.ravel()


def as_mat(x: Any) -> Any:
    """The array with two axes, the first as it is."""
    return x.reshape(len(x), -1)
