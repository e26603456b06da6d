"""Two axes exchanged."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, check_axes
from ...variable import Variable


class Swapaxes(AnyFunction):
    def __init__(self, axis1: int, axis2: int) -> None:
        self.axis1 = axis1
        self.axis2 = axis2

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        check_axes((self.axis1, self.axis2), x.ndim)
        return x.swapaxes(self.axis1, self.axis2)


def swapaxes(x: Any, axis1: int, axis2: int) -> Variable:
    """The array with two axes exchanged."""
    return Swapaxes(axis1, axis2).apply((x,))[0]
