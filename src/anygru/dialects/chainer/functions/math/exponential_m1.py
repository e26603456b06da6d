"""Exponentials near zero."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Expm1(FloatFunction):
    label = "expm1"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.expm1()


def expm1(x: Any) -> Variable:
    """`exp(x) - 1`, elementwise, exact near zero."""
    return Expm1().apply((x,))[0]
