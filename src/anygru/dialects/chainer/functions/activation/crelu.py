"""The concatenated rectified linear unit."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction, expect
from ...variable import Variable


class CReLU(FloatFunction):
    def __init__(self, axis: int = 1) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be an integer value, got {axis!r}")
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect(in_types[0].ndim > self.axis, -in_types[0].ndim <= self.axis)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.cat((torch.relu(x), torch.relu(-x)), self.axis)


def crelu(x: Any, axis: int = 1) -> Variable:
    """`relu(x)` and `relu(-x)`, concatenated along an axis."""
    return CReLU(axis).apply((x,))[0]
