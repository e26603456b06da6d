"""Linear interpolation."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class LinearInterpolate(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("p", "x", "y"))
        p, x, y = in_types
        expect(p.dtype.kind == "f", x.dtype == p.dtype, y.dtype == p.dtype, p.shape == x.shape, p.shape == y.shape)

    def compute(self, p: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return p * x + (1 - p) * y


def linear_interpolate(p: Any, x: Any, y: Any) -> Variable:
    """`p * x + (1 - p) * y`, elementwise."""
    return LinearInterpolate().apply((p, x, y))[0]
