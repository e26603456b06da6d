"""Logarithms near one."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Log1p(FloatFunction):
    label = "log1p"

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.log1p()


def log1p(x: Any) -> Variable:
    """`log(1 + x)`, elementwise, exact near zero."""
    return Log1p().apply((x,))[0]
