"""A new axis."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, expect
from ...variable import Variable


class ExpandDims(AnyFunction):
    def __init__(self, axis: int) -> None:
        self.axis = int(axis)

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect(in_types[0].ndim >= (self.axis if self.axis >= 0 else -self.axis - 1))

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.unsqueeze(self.axis)


def expand_dims(x: Any, axis: int) -> Variable:
    """The array with a new axis of size 1 at `axis`."""
    return ExpandDims(axis).apply((x,))[0]
