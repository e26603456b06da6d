"""Squares."""

from __future__ import annotations

from typing import Any

import torch

from grus.dialects.chainer.functions._checks import FloatFunction
from grus.dialects.chainer.variable import Variable


class Square(FloatFunction):
    label = "square"  # type: ignore[assignment]

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.square()


def square(x: Any) -> Variable:
    """The square, elementwise."""
    return Square().apply((x,))[0]
