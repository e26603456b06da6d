"""The piecewise linear sigmoid."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class HardSigmoid(FloatFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        y = 0.2 * x + 0.5
        # The slope is 0.2 strictly between the bounds and 0 on them.
        return torch.where((y > 0) & (y < 1), y, y.detach().clamp(0, 1))


def hard_sigmoid(x: Any) -> Variable:
    """`0.2 * x + 0.5`, held between 0 and 1."""
    return HardSigmoid().apply((x,))[0]
