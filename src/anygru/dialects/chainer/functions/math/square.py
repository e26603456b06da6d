"""Squares."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Square(FloatFunction):
    label = "square"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.square()


def square(x: Any) -> Variable:
    """The square, elementwise."""
    return Square().apply((x,))[0]
