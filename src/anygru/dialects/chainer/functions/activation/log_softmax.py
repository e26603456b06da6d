"""The logarithm of the softmax."""

from __future__ import annotations

from typing import Any

import torch

from ...functions.activation.softmax import AlongAxis
from ...variable import Variable


class LogSoftmax(AlongAxis):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.log_softmax(x, self.axis)


def log_softmax(x: Any, axis: int = 1) -> Variable:
    """`x - log(sum(exp(x)))` along an axis."""
    return LogSoftmax(axis).apply((x,))[0]
