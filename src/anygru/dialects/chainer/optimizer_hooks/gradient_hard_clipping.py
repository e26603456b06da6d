"""Clipping element by element."""

from __future__ import annotations

from typing import Any

from .._tensors import as_tensor


class GradientHardClipping:
    """Hold each element of the gradients between two bounds."""

    name = "GradientHardClipping"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, lower_bound: float, upper_bound: float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __call__(self, rule: Any, param: Any) -> None:
        if param.grad is not None:
            as_tensor(param.grad).clamp_(self.lower_bound, self.upper_bound)
