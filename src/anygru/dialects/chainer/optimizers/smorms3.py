"""SMORMS3."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(lr=0.001, eps=1e-16)


class SMORMS3Rule(TorchRule):
    """A step of `g * min(lr, x) / sqrt(g2)` with `x = mean(g)^2 / mean(g^2)` over a memory that x itself sets."""

    defaults = _default_hyperparam
    zeros = ("g", "g2")

    def __init__(
        self, parent_hyperparam: Hyperparameter | None = None, lr: float | None = None, eps: float | None = None
    ) -> None:
        super().__init__(parent_hyperparam, lr=lr, eps=eps)

    def init_state(self, param: Any) -> None:
        self.state["mem"] = param.xp.ones_like(param.array)
        super().init_state(param)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        mem, g, g2 = state["mem"], state["g"], state["g2"]
        eps = self.hyperparam.eps
        share = 1 / (mem + 1)
        g.mul_(1 - share).add_(share * grad)
        g2.mul_(1 - share).add_(share * grad * grad)
        x = g * g / (g2 + eps)
        param.sub_(grad * x.clamp(max=self.hyperparam.lr) / (g2.sqrt() + eps))
        mem.mul_(1 - x).add_(1)


class SMORMS3(GradientMethod):
    """SMORMS3 (Funk, 2015)."""

    rule = SMORMS3Rule
    lr = HyperparameterProxy("lr")
    eps = HyperparameterProxy("eps")

    def __init__(self, lr: float = _default_hyperparam.lr, eps: float = _default_hyperparam.eps) -> None:
        super().__init__(lr=lr, eps=eps)
