"""The softplus."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Softplus(FloatFunction):
    def __init__(self, beta: float = 1.0) -> None:
        self.beta = float(beta)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        scaled = self.beta * x
        return torch.logaddexp(scaled, torch.zeros_like(scaled)) / self.beta


def softplus(x: Any, beta: float = 1.0) -> Variable:
    """`log(1 + exp(beta * x)) / beta`, elementwise."""
    return Softplus(beta).apply((x,))[0]
