"""Unit length."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction, check_axes
from ...variable import Variable


class NormalizeL2(FloatFunction):
    def __init__(self, eps: float = 1e-5, axis: Any = 1) -> None:
        self.eps = eps
        self.axis = (axis,) if isinstance(axis, int) else axis

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        check_axes(self.axis or (), x.ndim)
        return x / (torch.linalg.vector_norm(x, dim=self.axis, keepdim=True) + self.eps)


def normalize(x: Any, eps: float = 1e-5, axis: Any = 1) -> Variable:
    """`x / (norm(x) + eps)` with the L2 norm along an axis or several (a tuple)."""
    return NormalizeL2(eps, axis).apply((x,))[0]
