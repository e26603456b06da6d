"""Hyperbolic functions."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Cosh(FloatFunction):
    label = "cosh"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.cosh()


def cosh(x: Any) -> Variable:
    """Hyperbolic cosine, elementwise."""
    return Cosh().apply((x,))[0]


class Sinh(FloatFunction):
    label = "sinh"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.sinh()


def sinh(x: Any) -> Variable:
    """Hyperbolic sine, elementwise."""
    return Sinh().apply((x,))[0]
