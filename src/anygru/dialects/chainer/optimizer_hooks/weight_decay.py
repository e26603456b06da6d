"""L2 regularization."""

from __future__ import annotations

from typing import Any

from .._tensors import as_tensor


class WeightDecay:
    """Add `rate * p` to the gradients."""

    name = "WeightDecay"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, rule: Any, param: Any) -> None:
        if param.array is not None and param.grad is not None:
            as_tensor(param.grad).add_(as_tensor(param.array), alpha=self.rate)
