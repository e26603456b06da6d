"""Stacking."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...variable import Variable


class Stack(TorchFunction):
    def __init__(self, axis: int) -> None:
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() > 0)
        expect(-in_types[0].ndim - 1 <= self.axis, self.axis <= in_types[0].ndim)
        for in_type in in_types[1:]:
            expect(in_type.dtype == in_types[0].dtype, in_type.shape == in_types[0].shape)

    def compute(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.stack(xs, self.axis)


def stack(xs: Any, axis: int = 0) -> Variable:
    """Join a list or tuple of arrays of one shape along a new axis."""
    return Stack(axis).apply(xs)[0]
