"""Checks that many functions share. One that is called `check(node, *types)` raises InvalidType."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from ..utils import type_check

expect = type_check.expect
Check = Callable[..., None]
Type = Any
"""The type of an input: the array itself, or a `type_check.Expression` of its shape and dtype."""
Axes = int | tuple[int, ...] | None


def real(node: object, x: Type, *others: Type) -> None:
    """The first input is floating point."""
    expect(x.dtype.kind == "f")


def all_real(node: object, *xs: Type) -> None:
    """Every input is floating point."""
    expect(*[x.dtype.kind == "f" for x in xs])


def one_dtype(node: object, x: Type, *others: Type) -> None:
    """All inputs have the dtype of the first."""
    expect(*[x.dtype == other.dtype for other in others])


def one_shape(node: object, x: Type, *others: Type) -> None:
    """All inputs have the shape of the first."""
    expect(*[x.shape == other.shape for other in others])


def broadcastable(node: object, *xs: Type) -> None:
    """The shapes can be broadcast together."""
    type_check.expect_broadcast_shapes(*[x.shape for x in xs])


def some(node: object, *xs: Type) -> None:
    """There is an input."""
    expect(type_check.make_variable(len(xs), "in_types.size") > 0)


def numbered(node: object, *xs: Type) -> None:
    """Name the inputs x0, x1, ... for later checks."""
    type_check._argname(xs, [f"x{i}" for i in range(len(xs))])


def has_axes(node: Any, x: Type, *others: Type) -> None:
    """The first input has all of `node.axis`."""
    expect_axes((node.axis,) if isinstance(node.axis, int) else node.axis, x)


def expect_axes(axes: Sequence[int] | None, in_type: Type) -> None:
    """InvalidType unless the array has all these axes."""
    for axis in axes or ():
        if axis >= 0:
            expect(axis < in_type.ndim)
        else:
            expect(-axis - 1 < in_type.ndim)


def expect_alike(in_types: Sequence[Type], free_axis: int | None) -> None:
    """InvalidType unless all arrays have one dtype, one number of axes and one shape, but for the free axis."""
    for in_type in in_types[1:]:
        expect(in_types[0].dtype == in_type.dtype, in_types[0].ndim == in_type.ndim)
        for axis in range(type_check.eval(in_types[0].ndim)):
            if axis != free_axis:
                expect(in_types[0].shape[axis] == in_type.shape[axis])


@contextlib.contextmanager
def as_runtime_error() -> Iterator[None]:
    """Inside, a failed check is a RuntimeError with the same message.

    So it is in Chainer 7.8.1 in `softmax`, `log_softmax` and `softmax_cross_entropy` (recorded).
    """
    try:
        yield
    except type_check.InvalidType as error:
        if type_check.in_light_mode():
            raise
        raise RuntimeError(str(error)) from error


def as_axes(axis: Axes) -> tuple[int, ...] | None:
    """Axes from None, an int or a tuple of ints (TypeError for anything else, ValueError for one that comes twice)."""
    if axis is None:
        return None
    if isinstance(axis, int):
        return (axis,)
    if not (isinstance(axis, tuple) and all(isinstance(a, int) for a in axis)):
        raise TypeError(f"axis: None, int or tuple of int are required, got {axis!r}")
    if len(set(axis)) != len(axis):
        raise ValueError(f"duplicate value in axis: ({', '.join(map(str, axis))})")
    return axis


def int_axis(axis: int) -> tuple[int]:
    """The option `axis` of a row, an int (TypeError)."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be int, got {axis!r}")
    return (axis,)


def check_axes(axes: Sequence[int], ndim: int) -> None:
    """NumPy's AxisError (an IndexError and a ValueError) unless an array of `ndim` axes has all these."""
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise numpy.exceptions.AxisError(axis, ndim)


def check_reduce(reduce: str, allowed: tuple[str, ...] = ("mean", "no")) -> None:
    """Raise ValueError unless `reduce` is one of the allowed names."""
    if reduce not in allowed:
        names = " and ".join(repr(name) for name in allowed)
        raise ValueError(f"only {names} are valid for 'reduce', but '{reduce}' is given")
