"""Nesterov's accelerated gradient."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(lr=0.01, momentum=0.9)


class NesterovAGRule(TorchRule):
    """`v = momentum * v - lr * g; p += momentum^2 * v - (1 + momentum) * lr * g`."""

    defaults = _default_hyperparam
    zeros = ("v",)

    def __init__(
        self, parent_hyperparam: Hyperparameter | None = None, lr: float | None = None, momentum: float | None = None
    ) -> None:
        super().__init__(parent_hyperparam, lr=lr, momentum=momentum)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        lr, momentum = self.hyperparam.lr, self.hyperparam.momentum
        v = state["v"]
        v.mul_(momentum).sub_(grad * lr)
        param.add_(v * (momentum * momentum)).sub_(grad * ((1 + momentum) * lr))


class NesterovAG(GradientMethod):
    """Nesterov's accelerated gradient (Bengio et al., 2012)."""

    rule = NesterovAGRule
    lr = HyperparameterProxy("lr")
    momentum = HyperparameterProxy("momentum")

    def __init__(self, lr: float = _default_hyperparam.lr, momentum: float = _default_hyperparam.momentum) -> None:
        super().__init__(lr=lr, momentum=momentum)
