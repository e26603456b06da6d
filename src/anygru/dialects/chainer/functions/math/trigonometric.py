"""Trigonometric functions."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Sin(FloatFunction):
    label = "sin"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.sin()


def sin(x: Any) -> Variable:
    """Sine, elementwise."""
    return Sin().apply((x,))[0]


class Cos(FloatFunction):
    label = "cos"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.cos()


def cos(x: Any) -> Variable:
    """Cosine, elementwise."""
    return Cos().apply((x,))[0]


class Tan(FloatFunction):
    label = "tan"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.tan()


def tan(x: Any) -> Variable:
    """Tangent, elementwise."""
    return Tan().apply((x,))[0]


class Arcsin(FloatFunction):
    label = "arcsin"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.asin()


def arcsin(x: Any) -> Variable:
    """Inverse sine, elementwise."""
    return Arcsin().apply((x,))[0]


class Arccos(FloatFunction):
    label = "arccos"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.acos()


def arccos(x: Any) -> Variable:
    """Inverse cosine, elementwise."""
    return Arccos().apply((x,))[0]


class Arctan(FloatFunction):
    label = "arctan"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.atan()


def arctan(x: Any) -> Variable:
    """Inverse tangent, elementwise."""
    return Arctan().apply((x,))[0]
