"""Taking apart along an axis."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, expect_axes
from ...variable import Variable


class Separate(AnyFunction):
    def __init__(self, axis: int) -> None:
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect_axes((self.axis,), in_types[0])

    def compute(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:  # type: ignore[override]
        return x.unbind(self.axis)


def separate(x: Any, axis: int = 0) -> tuple[Variable, ...]:
    """The slices of an array along an axis, without that axis."""
    return Separate(axis).apply((x,))
