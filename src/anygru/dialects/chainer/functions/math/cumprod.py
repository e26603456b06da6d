"""Running products."""

from __future__ import annotations

from typing import Any

import torch

from ...functions.math.minmax import IndexSelectorBase
from ...variable import Variable


class Cumprod(IndexSelectorBase):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.reshape(-1).cumprod(0) if self.axis is None else x.cumprod(self.axis)


def cumprod(x: Any, axis: int | None = None) -> Variable:
    """The running product along an axis, or over the flattened array."""
    return Cumprod(axis).apply((x,))[0]
