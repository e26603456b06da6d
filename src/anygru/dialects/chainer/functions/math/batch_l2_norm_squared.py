"""Squared lengths."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction, expect
from ...variable import Variable


class BatchL2NormSquared(FloatFunction):
    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect(in_types[0].ndim >= 2)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.reshape(len(x), -1).square().sum(1)


def batch_l2_norm_squared(x: Any) -> Variable:
    """The squared L2 norm of each element of a batch [B, ...], as [B]."""
    return BatchL2NormSquared().apply((x,))[0]
