"""Accuracy."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class Accuracy(TorchFunction):
    def __init__(self, ignore_label: int | None = None) -> None:
        self.ignore_label = ignore_label

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        expect(x.dtype.kind == "f", t.dtype.kind == "i")
        t_ndim = type_check.eval(t.ndim)
        expect(x.ndim >= t.ndim, x.shape[0] == t.shape[0], x.shape[2 : t_ndim + 1] == t.shape[1:])
        for axis in range(t_ndim + 1, type_check.eval(x.ndim)):
            expect(x.shape[axis] == 1)

    def compute(self, y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        right = y.argmax(1).reshape(t.shape) == t
        if self.ignore_label is None:
            return right.to(y.dtype).mean()
        counted = t != self.ignore_label
        total = int(counted.sum())
        return torch.tensor(int((right & counted).sum()) / total if total else 0.0, dtype=y.dtype, device=y.device)


def accuracy(y: Any, t: Any, ignore_label: int | None = None) -> Variable:
    """The share of rows of y [B, N, ...] whose largest element is at t [B, ...], in the dtype of `y`.

    Args:
        ignore_label: targets of this value do not count.
    """
    return Accuracy(ignore_label).apply((y, t))[0]
