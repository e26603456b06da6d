"""Clipping."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Clip(FloatFunction):
    def __init__(self, x_min: float | None, x_max: float | None) -> None:
        if x_min is None and x_max is None:
            raise ValueError("must set either max or min")
        if x_min is not None and x_max is not None and x_min >= x_max:
            raise ValueError(f"x_min must be less than x_max, got {x_min} and {x_max}")
        self.x_min = x_min
        self.x_max = x_max

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.clamp(self.x_min, self.x_max)


def clip(x: Any, x_min: float | None, x_max: float | None) -> Variable:
    """`x`, held between `x_min` and `x_max` (None: no bound)."""
    return Clip(x_min, x_max).apply((x,))[0]
