"""Layer normalization."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class LayerNormalization(TorchFunction):
    def __init__(self, eps: float = 1e-5) -> None:
        self.eps = eps

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() == 3)
        x, gamma, beta = in_types
        type_check._argname(in_types, ("x", "gamma", "beta"))
        expect(x.dtype.kind == "f", x.ndim == 2, gamma.ndim == 1, beta.ndim == 1)
        expect(gamma.dtype == x.dtype, beta.dtype == x.dtype, gamma.shape == beta.shape)

    def compute(self, x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        if gamma.shape != x.shape[1:]:
            raise ValueError(f"gamma must have the shape {tuple(x.shape[1:])} of a row of x, got {tuple(gamma.shape)}")
        return torch.nn.functional.layer_norm(x, x.shape[1:], gamma, beta, self.eps)


def layer_normalization(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Variable:
    """`gamma * (x - mean) / sqrt(var + eps) + beta` for each row of x [B, N] (Ba et al., 2016); gamma, beta [N]."""
    return LayerNormalization(eps).apply((x, gamma, beta))[0]
