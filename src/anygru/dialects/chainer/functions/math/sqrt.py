"""Square roots."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Sqrt(FloatFunction):
    label = "sqrt"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.sqrt()


def sqrt(x: Any) -> Variable:
    """The square root, elementwise."""
    return Sqrt().apply((x,))[0]


def rsqrt(x: Any) -> Variable:
    """`1 / sqrt(x)`, elementwise."""
    return 1.0 / sqrt(x)
