"""Mean squared error."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import SameShapeFunction
from ...variable import Variable


class MeanSquaredError(SameShapeFunction):
    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return (a - b).square().mean()


def mean_squared_error(x0: Any, x1: Any) -> Variable:
    """The mean of `(x0 - x1)^2` over all elements."""
    return MeanSquaredError().apply((x0, x1))[0]
