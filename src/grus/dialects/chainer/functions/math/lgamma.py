"""The logarithm of the gamma function."""

from __future__ import annotations

from typing import Any

import torch

from grus.dialects.chainer.functions._checks import FloatFunction
from grus.dialects.chainer.variable import Variable


class LGamma(FloatFunction):
    label = "lgamma"  # type: ignore[assignment]

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.lgamma()


def lgamma(x: Any) -> Variable:
    """The logarithm of the gamma function, elementwise."""
    return LGamma().apply((x,))[0]
