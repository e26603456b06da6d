"""Without axes of size 1."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, expect_axes
from ...variable import Variable


class Squeeze(AnyFunction):
    def __init__(self, axis: Any = None) -> None:
        if isinstance(axis, int):
            axis = (axis,)
        if not (axis is None or (isinstance(axis, tuple) and all(isinstance(a, int) for a in axis))):
            raise TypeError(f"axis must be None, int or tuple of ints, got {axis!r}")
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        expect_axes(self.axis, in_types[0])

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        if self.axis is None:
            return x.squeeze()
        for axis in self.axis:
            if x.shape[axis] != 1:
                raise ValueError(f"cannot squeeze axis {axis} of shape {tuple(x.shape)}: its size is not one")
        return x.squeeze(self.axis)


def squeeze(x: Any, axis: Any = None) -> Variable:
    """The array without the given axes (all of size 1 by default); ValueError for one of another size."""
    return Squeeze(axis).apply((x,))[0]
