"""The error function."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Erf(FloatFunction):
    label = "erf"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.erf()


def erf(x: Any) -> Variable:
    """The error function, elementwise."""
    return Erf().apply((x,))[0]
