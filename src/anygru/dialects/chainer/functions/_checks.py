"""Checks that many functions share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from .._torch_function import TorchFunction
from ..utils import type_check

expect = type_check.expect


class FloatFunction(TorchFunction):
    """A function of one floating point array `x`."""

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x",))
        expect(in_types[0].dtype.kind == "f")


@contextlib.contextmanager
def as_runtime_error() -> Iterator[None]:
    """Inside, a failed check is a RuntimeError, as the original has it for some functions, with the same message."""
    try:
        yield
    except type_check.InvalidType as error:
        if type_check.in_light_mode():
            raise
        raise RuntimeError(str(error)) from error


class AnyFunction(TorchFunction):
    """A function of one array `x` of any dtype."""

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x",))


class PairFunction(TorchFunction):
    """A function of two floating point arrays of one dtype that can be broadcast together."""

    names: tuple[str, str] = ("lhs", "rhs")
    floats_only = True

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, self.names)
        if self.floats_only:
            expect(in_types[0].dtype.kind == "f")
        expect(in_types[0].dtype == in_types[1].dtype)
        type_check.expect_broadcast_shapes(in_types[0].shape, in_types[1].shape)


class SameShapeFunction(TorchFunction):
    """A function of two floating point arrays of one dtype and one shape."""

    names: tuple[str, str] = ("x0", "x1")

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, self.names)
        expect(
            in_types[0].dtype.kind == "f",
            in_types[0].dtype == in_types[1].dtype,
            in_types[0].shape == in_types[1].shape,
        )


def as_axes(axis: Any) -> tuple[int, ...] | None:
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


def check_axes(axes: Sequence[int], ndim: int) -> None:
    """NumPy's AxisError (an IndexError and a ValueError) unless an array of `ndim` axes has all these."""
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise numpy.exceptions.AxisError(axis, ndim)


def expect_axes(axes: Sequence[int] | None, in_type: Any) -> None:
    """InvalidType unless the array has all these axes."""
    for axis in axes or ():
        if axis >= 0:
            expect(axis < in_type.ndim)
        else:
            expect(-axis - 1 < in_type.ndim)


class ReductionFunction(FloatFunction):
    """A function of one floating point array along some of its axes (None: along all)."""

    def __init__(self, axis: Any = None, keepdims: bool = False) -> None:
        self.axis = as_axes(axis)
        self.keepdims = keepdims

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect_axes(self.axis, in_types[0])

    def axes(self, ndim: int) -> tuple[int, ...]:
        """The axes of an array of `ndim` axes along which to reduce."""
        return tuple(range(ndim)) if self.axis is None else self.axis
