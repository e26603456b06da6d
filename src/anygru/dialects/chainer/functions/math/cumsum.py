"""Running sums."""

from __future__ import annotations

from typing import Any

import torch

from ...functions.math.minmax import IndexSelectorBase
from ...variable import Variable


class Cumsum(IndexSelectorBase):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.reshape(-1).cumsum(0) if self.axis is None else x.cumsum(self.axis)


def cumsum(x: Any, axis: int | None = None) -> Variable:
    """The running sum along an axis, or over the flattened array."""
    return Cumsum(axis).apply((x,))[0]
