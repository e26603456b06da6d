"""Cross entropy of a sigmoid."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...functions.loss.softmax_cross_entropy import check_reduce
from ...utils import type_check
from ...variable import Variable


class SigmoidCrossEntropy(TorchFunction):
    ignore_label = -1

    def __init__(self, normalize: bool = True, reduce: str = "mean") -> None:
        check_reduce(reduce)
        self.normalize = normalize
        self.reduce = reduce

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        expect(x.dtype.kind == "f", t.dtype.kind == "i", x.shape == t.shape)

    def compute(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        counted = t != self.ignore_label
        loss = torch.nn.functional.binary_cross_entropy_with_logits(x, t.to(x.dtype), reduction="none") * counted
        if self.reduce == "no":
            return loss
        count = counted.sum().clamp(min=1) if self.normalize else max(len(x), 1)
        return loss.sum() / count


def sigmoid_cross_entropy(x: Any, t: Any, normalize: bool = True, reduce: str = "mean") -> Variable:
    """Cross entropy of the sigmoid of x against int targets t (0 or 1; -1 does not count) of the same shape.

    Args:
        normalize: divide by the number of targets that count; False: by the batch size.
        reduce: "mean", or "no" for one loss a target (ValueError for anything else).
    """
    return SigmoidCrossEntropy(normalize, reduce).apply((x, t))[0]
