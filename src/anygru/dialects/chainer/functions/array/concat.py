"""Concatenation."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


def expect_alike(in_types: Any, free_axis: int | None) -> None:
    """InvalidType unless all arrays have one dtype, one number of axes and one shape, but for the free axis."""
    expect(in_types.size() > 0)
    for in_type in in_types[1:]:
        expect(in_types[0].dtype == in_type.dtype, in_types[0].ndim == in_type.ndim)
        for axis in range(type_check.eval(in_types[0].ndim)):
            if axis != free_axis:
                expect(in_types[0].shape[axis] == in_type.shape[axis])


class Concat(TorchFunction):
    def __init__(self, axis: int = 1) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, got {axis!r}")
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() > 0)
        axis = type_check.make_variable(self.axis, "axis")
        expect(in_types[0].ndim > axis, -in_types[0].ndim <= self.axis)
        expect_alike(in_types, self.axis % type_check.eval(in_types[0].ndim))

    def compute(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.cat(xs, self.axis)


def concat(xs: Any, axis: int = 1) -> Variable:
    """Join a list or tuple of arrays along an existing axis (the second by default)."""
    return Concat(axis).apply(xs)[0]
