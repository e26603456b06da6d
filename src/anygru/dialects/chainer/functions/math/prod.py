"""Products."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import ReductionFunction
from ...variable import Variable


class Prod(ReductionFunction):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        for axis in sorted((axis % x.ndim for axis in self.axes(x.ndim)), reverse=True):
            x = x.prod(axis, keepdim=self.keepdims)
        return x.clone() if not x.ndim else x


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """The product along an axis, several (a tuple) or all (None)."""
    return Prod(axis, keepdims).apply((x,))[0]
