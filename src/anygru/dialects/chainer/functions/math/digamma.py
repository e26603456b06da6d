"""The digamma function."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class DiGamma(FloatFunction):
    label = "digamma"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.digamma()


def digamma(x: Any) -> Variable:
    """The digamma function, elementwise."""
    return DiGamma().apply((x,))[0]
