"""The swish."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class Swish(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "beta"))
        x, beta = in_types
        expect(x.dtype.kind == "f", beta.dtype == x.dtype, beta.ndim <= x.ndim - 1)
        expect(beta.shape == x.shape[1 : 1 + type_check.eval(beta.ndim)])

    def compute(self, x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        beta = beta.reshape((1, *beta.shape) + (1,) * (x.ndim - beta.ndim - 1))
        return x * torch.sigmoid(beta * x)


def swish(x: Any, beta: Any) -> Variable:
    """`x * sigmoid(beta * x)`; `beta` has the shape of some leading axes of `x` without the batch axis."""
    return Swish().apply((x, beta))[0]
