"""Exponentials and logarithms."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Exp(FloatFunction):
    label = "exp"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.exp()


def exp(x: Any) -> Variable:
    """`exp(x)`, elementwise."""
    return Exp().apply((x,))[0]


class Log(FloatFunction):
    label = "log"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.log()


def log(x: Any) -> Variable:
    """The natural logarithm, elementwise."""
    return Log().apply((x,))[0]


class Log2(FloatFunction):
    label = "log2"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.log2()


def log2(x: Any) -> Variable:
    """The logarithm to base 2, elementwise."""
    return Log2().apply((x,))[0]


class Log10(FloatFunction):
    label = "log10"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.log10()


def log10(x: Any) -> Variable:
    """The logarithm to base 10, elementwise."""
    return Log10().apply((x,))[0]
