"""The inverse error function."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class ErfInv(FloatFunction):
    label = "erfinv"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.erfinv()


def erfinv(x: Any) -> Variable:
    """The inverse error function, elementwise."""
    return ErfInv().apply((x,))[0]
