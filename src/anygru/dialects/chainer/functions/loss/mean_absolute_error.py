"""Mean absolute error."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import SameShapeFunction
from ...functions.math.basic_math import magnitude
from ...variable import Variable


class MeanAbsoluteError(SameShapeFunction):
    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return magnitude(a - b).mean()


def mean_absolute_error(x0: Any, x1: Any) -> Variable:
    """The mean of `|x0 - x1|` over all elements."""
    return MeanAbsoluteError().apply((x0, x1))[0]
