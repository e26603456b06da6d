"""Absolute error."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import SameShapeFunction
from ...functions.math.basic_math import magnitude
from ...variable import Variable


class AbsoluteError(SameShapeFunction):
    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return magnitude(a - b)


def absolute_error(x0: Any, x1: Any) -> Variable:
    """`|x0 - x1|`, elementwise."""
    return AbsoluteError().apply((x0, x1))[0]
