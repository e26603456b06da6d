"""The coefficient of determination."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...variable import Variable


class R2_score(TorchFunction):
    def __init__(self, sample_weight: Any, multioutput: str) -> None:
        if sample_weight is not None:
            raise NotImplementedError("r2_score: sample_weight must be None")
        if multioutput not in ("uniform_average", "raw_values"):
            raise ValueError(f"invalid multioutput argument: {multioutput!r}")
        self.multioutput = multioutput

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() == 2)
        pred, true = in_types
        expect(pred.dtype.kind == "f", true.dtype.kind == "f", pred.shape == true.shape)

    def compute(self, pred: torch.Tensor, true: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        residual = (pred - true).square().sum(0)
        total = (true - true.mean(0)).square().sum(0)
        score = torch.where(total != 0, 1 - residual / total, 0.0).to(pred.dtype)
        return score.mean() if self.multioutput == "uniform_average" else score


def r2_score(pred: Any, true: Any, sample_weight: Any = None, multioutput: str = "uniform_average") -> Variable:
    """`1 - sum((pred - true)^2) / sum((true - mean(true))^2)` over the first axis, averaged or as "raw_values"."""
    return R2_score(sample_weight, multioutput).apply((pred, true))[0]
