"""Reversing."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, expect, expect_axes
from ...variable import Variable


class Flip(AnyFunction):
    def __init__(self, axis: int) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, got {axis!r}")
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect(in_types[0].ndim > 0)
        expect_axes((self.axis,), in_types[0])

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.flip(self.axis)


def flip(x: Any, axis: int) -> Variable:
    """The array reversed along an axis."""
    return Flip(axis).apply((x,))[0]
