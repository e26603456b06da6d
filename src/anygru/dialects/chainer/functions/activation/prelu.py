"""The parametric rectified linear unit."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class PReLUFunction(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "W"))
        x, w = in_types
        expect(x.dtype.kind == "f", w.dtype == x.dtype, x.ndim >= w.ndim + 1)
        expect(x.shape[1 : 1 + type_check.eval(w.ndim)] == w.shape)

    def compute(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        slope = w.reshape((1, *w.shape) + (1,) * (x.ndim - w.ndim - 1))
        return torch.where(x >= 0, x, slope * x)


def prelu(x: Any, W: Any) -> Variable:
    """`x` where it is positive, `W * x` elsewhere; `W` has the shape of some leading axes without the batch axis."""
    return PReLUFunction().apply((x, W))[0]
