"""The hyperbolic tangent."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Tanh(FloatFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.tanh(x)


def tanh(x: Any) -> Variable:
    """Hyperbolic tangent, elementwise."""
    return Tanh().apply((x,))[0]
