"""The inverse hyperbolic tangent."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Arctanh(FloatFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.atanh()


def arctanh(x: Any) -> Variable:
    """Inverse hyperbolic tangent, elementwise."""
    return Arctanh().apply((x,))[0]
