"""Rectified linear units with a ceiling."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class ClippedReLU(FloatFunction):
    def __init__(self, z: float) -> None:
        if not isinstance(z, float):
            raise TypeError(f"z must be float value, got {z!r}")
        if z <= 0:
            raise AssertionError(f"z must be positive, got {z}")
        self.cap = z

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        # The slope is 1 strictly between the bounds and 0 on them.
        return torch.where((x > 0) & (x < self.cap), x, x.detach().clamp(0, self.cap))


def clipped_relu(x: Any, z: float = 20.0) -> Variable:
    """`min(max(0, x), z)`, elementwise."""
    return ClippedReLU(z).apply((x,))[0]


def relu6(x: Any) -> Variable:
    """`min(max(0, x), 6)`, elementwise."""
    return ClippedReLU(6.0).apply((x,))[0]
