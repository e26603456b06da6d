"""Accuracy of yes or no."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class BinaryAccuracy(TorchFunction):
    ignore_label = -1

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        expect(x.dtype.kind == "f", t.dtype.kind == "i", t.shape == x.shape)

    def compute(self, y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        counted = t != self.ignore_label
        right = (y >= 0) == (t == 1)
        return ((right & counted).sum() / counted.sum().clamp(min=1)).to(y.dtype)


def binary_accuracy(y: Any, t: Any) -> Variable:
    """The share of elements whose sign (not negative: 1) agrees with t (0 or 1); targets of -1 do not count."""
    return BinaryAccuracy().apply((y, t))[0]
