"""The exponential linear unit."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class ELU(FloatFunction):
    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = float(alpha)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.nn.functional.elu(x, self.alpha)


def elu(x: Any, alpha: float = 1.0) -> Variable:
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere (Clevert et al., 2015)."""
    return ELU(alpha).apply((x,))[0]
