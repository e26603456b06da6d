"""The rectified linear unit."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class ReLU(FloatFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.relu(x)


def relu(x: Any) -> Variable:
    """`max(0, x)`, elementwise."""
    return ReLU().apply((x,))[0]
