"""The Huber loss."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import SameShapeFunction
from ...functions.loss.softmax_cross_entropy import check_reduce
from ...variable import Variable


class HuberLoss(SameShapeFunction):
    names = ("x", "t")

    def __init__(self, delta: float, reduce: str = "sum_along_second_axis") -> None:
        check_reduce(reduce, ("sum_along_second_axis", "no"))
        self.delta = delta
        self.reduce = reduce

    def compute(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        loss = torch.nn.functional.huber_loss(x, t, reduction="none", delta=self.delta)
        return loss if self.reduce == "no" else loss.sum(1)


def huber_loss(x: Any, t: Any, delta: float, reduce: str = "sum_along_second_axis") -> Variable:
    """`0.5 a^2` where `a = |x - t|` is at most `delta`, else `delta (a - 0.5 delta)`, summed along the second axis.

    Args:
        reduce: "no" for one loss an element.
    """
    return HuberLoss(delta, reduce).apply((x, t))[0]
