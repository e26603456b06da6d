"""Gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(lr=0.01, momentum=0.9)


class MomentumSGDRule(TorchRule):
    """`v = momentum * v - lr * g; p += v`."""

    defaults = _default_hyperparam
    zeros = ("v",)

    def __init__(
        self, parent_hyperparam: Hyperparameter | None = None, lr: float | None = None, momentum: float | None = None
    ) -> None:
        super().__init__(parent_hyperparam, lr=lr, momentum=momentum)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        v = state["v"]
        v.mul_(self.hyperparam.momentum).sub_(grad * self.hyperparam.lr)
        param.add_(v)


class MomentumSGD(GradientMethod):
    """Gradient descent with learning rate `lr` and momentum."""

    rule = MomentumSGDRule
    lr = HyperparameterProxy("lr")
    momentum = HyperparameterProxy("momentum")

    def __init__(self, lr: float = _default_hyperparam.lr, momentum: float = _default_hyperparam.momentum) -> None:
        super().__init__(lr=lr, momentum=momentum)
