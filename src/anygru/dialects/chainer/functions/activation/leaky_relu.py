"""The leaky rectified linear unit."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class LeakyReLU(FloatFunction):
    def __init__(self, slope: float = 0.2) -> None:
        self.slope = slope

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.where(x > 0, x, self.slope * x)


def leaky_relu(x: Any, slope: float = 0.2) -> Variable:
    """`x` where it is positive, `slope * x` elsewhere."""
    return LeakyReLU(slope).apply((x,))[0]
