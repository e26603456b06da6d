"""The complementary error function."""

from __future__ import annotations

from typing import Any

import torch

from grus.dialects.chainer.functions._checks import FloatFunction
from grus.dialects.chainer.variable import Variable


class Erfc(FloatFunction):
    label = "erfc"  # type: ignore[assignment]

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.erfc()


def erfc(x: Any) -> Variable:
    """`1 - erf(x)`, elementwise."""
    return Erfc().apply((x,))[0]
