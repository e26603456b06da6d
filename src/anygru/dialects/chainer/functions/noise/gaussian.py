"""Gaussian noise."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ..._tensors import as_tensor
from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import as_variable


class Gaussian(TorchFunction):
    def __init__(self, eps: Any = None) -> None:
        self.eps = eps

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("mean", "ln_var"))
        mean, ln_var = in_types
        expect(mean.dtype.kind == "f", mean.dtype == ln_var.dtype, mean.shape == ln_var.shape)

    def compute(self, mean: torch.Tensor, ln_var: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return mean + torch.exp(0.5 * ln_var) * as_tensor(self.eps)


def gaussian(mean: Any, ln_var: Any, *, eps: Any = None, return_eps: bool = False) -> Any:
    """A draw from the normal distribution of this mean and logarithm of the variance, differentiable in both.

    Args:
        eps: the standard normal values to use, instead of new ones.
        return_eps: give (output, eps).
    """
    if eps is None:
        ln_var_variable = as_variable(ln_var)
        normal = numpy.random.standard_normal(ln_var.shape).astype(ln_var_variable.dtype)
        eps = ln_var_variable.device.send(normal)
    y = Gaussian(eps).apply((mean, ln_var))[0]
    return (y, eps) if return_eps else y
