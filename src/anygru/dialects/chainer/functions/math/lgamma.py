"""The logarithm of the gamma function."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class LGamma(FloatFunction):
    label = "lgamma"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.lgamma()


def lgamma(x: Any) -> Variable:
    """The logarithm of the gamma function, elementwise."""
    return LGamma().apply((x,))[0]
