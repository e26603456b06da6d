"""Layer-wise adaptive rates."""

from __future__ import annotations

from typing import Any

from .._tensors import as_tensor


class GradientLARS:
    """Scale each gradient by the ratio of the parameter's norm to its own (LARS; You et al., 2017).

    Args:
        threshold: parameters of a smaller norm keep the rate 1.
        weight_decay: added to the gradient, as a share of the parameter.
        eps: keeps the ratio finite.
    """

    name = "GradientLARS"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, threshold: float = 1e-2, weight_decay: float = 0.0, eps: float = 1e-9) -> None:
        self.threshold = threshold
        self.weight_decay = weight_decay
        self.eps = eps

    def __call__(self, rule: Any, param: Any) -> None:
        if param.array is None or param.grad is None:
            return
        p, g = as_tensor(param.array), as_tensor(param.grad)
        p_norm, g_norm = float(p.norm()), float(g.norm())
        rate = p_norm / (self.eps + g_norm + self.weight_decay * p_norm) if p_norm > self.threshold else 1.0
        g.add_(p, alpha=self.weight_decay).mul_(rate)
