"""Squared error."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import SameShapeFunction
from ...variable import Variable


class SquaredError(SameShapeFunction):
    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return (a - b).square()


def squared_error(x0: Any, x1: Any) -> Variable:
    """`(x0 - x1)^2`, elementwise."""
    return SquaredError().apply((x0, x1))[0]


def squared_difference(x1: Any, x2: Any) -> Variable:
    """`(x1 - x2)^2`, elementwise."""
    return squared_error(x1, x2)
