"""Diagonals."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, expect
from ...variable import Variable


class Diagonal(AnyFunction):
    def __init__(self, offset: int, axis1: int, axis2: int) -> None:
        self.offset = offset
        self.axis1 = axis1
        self.axis2 = axis2

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect(max(self.axis1, self.axis2) < in_types[0].ndim, -in_types[0].ndim <= min(self.axis1, self.axis2))

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.diagonal(self.offset, self.axis1, self.axis2)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """A diagonal of two axes, as the last axis."""
    return Diagonal(offset, axis1, axis2).apply((x,))[0]
