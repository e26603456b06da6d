"""The inverse error function."""

from __future__ import annotations

from typing import Any

import torch

from grus.dialects.chainer.functions._checks import FloatFunction
from grus.dialects.chainer.variable import Variable


class ErfInv(FloatFunction):
    label = "erfinv"  # type: ignore[assignment]

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.erfinv()


def erfinv(x: Any) -> Variable:
    """The inverse error function, elementwise."""
    return ErfInv().apply((x,))[0]
