"""The logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import ReductionFunction
from ...variable import Variable


class LogSumExp(ReductionFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.logsumexp(self.axes(x.ndim)) if x.ndim else x.clone()


def logsumexp(x: Any, axis: Any = None) -> Variable:
    """`log(sum(exp(x)))` along an axis, several (a tuple) or all (None)."""
    return LogSumExp(axis).apply((x,))[0]
