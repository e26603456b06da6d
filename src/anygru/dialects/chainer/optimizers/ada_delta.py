"""AdaDelta."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(rho=0.95, eps=1e-6)


class AdaDeltaRule(TorchRule):
    """`d = sqrt((msdx + eps) / (msg + eps)) * g; p -= d`, with running means of g^2 (msg) and d^2 (msdx)."""

    defaults = _default_hyperparam
    zeros = ("msg", "msdx")

    def __init__(
        self, parent_hyperparam: Hyperparameter | None = None, rho: float | None = None, eps: float | None = None
    ) -> None:
        super().__init__(parent_hyperparam, rho=rho, eps=eps)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        rho, eps = self.hyperparam.rho, self.hyperparam.eps
        msg, msdx = state["msg"], state["msdx"]
        msg.mul_(rho).add_(grad * grad * (1 - rho))
        change = ((msdx + eps) / (msg + eps)).sqrt() * grad
        msdx.mul_(rho).add_(change * change * (1 - rho))
        param.sub_(change)


class AdaDelta(GradientMethod):
    """AdaDelta (Zeiler, 2012)."""

    rule = AdaDeltaRule
    rho = HyperparameterProxy("rho")
    eps = HyperparameterProxy("eps")

    def __init__(self, rho: float = _default_hyperparam.rho, eps: float = _default_hyperparam.eps) -> None:
        super().__init__(rho=rho, eps=eps)
