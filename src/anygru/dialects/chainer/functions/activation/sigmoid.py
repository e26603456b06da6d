"""The logistic function."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Sigmoid(FloatFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.sigmoid(x)


def sigmoid(x: Any) -> Variable:
    """`1 / (1 + exp(-x))`, elementwise."""
    return Sigmoid().apply((x,))[0]
