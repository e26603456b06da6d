"""Clipping by the global norm."""

from __future__ import annotations

from typing import Any

from .._tensors import as_tensor


class GradientClipping:
    """Scale all gradients down together so that their L2 norm is at most `threshold`."""

    name = "GradientClipping"
    timing = "pre"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def __call__(self, opt: Any) -> None:
        params = list(opt.target.params(False))
        squares = [float(as_tensor(param.grad).double().square().sum()) for param in params]
        norm = sum(squares) ** 0.5
        if norm <= self.threshold:
            return
        rate = self.threshold / norm
        for param in params:
            grad = param.grad
            grad *= grad.dtype.type(rate)
