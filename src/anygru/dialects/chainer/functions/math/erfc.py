"""The complementary error function."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Erfc(FloatFunction):
    label = "erfc"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.erfc()


def erfc(x: Any) -> Variable:
    """`1 - erf(x)`, elementwise."""
    return Erfc().apply((x,))[0]
