"""Gradient descent with momentum in the form of Caffe and torch."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(lr=0.01, momentum=0.9)


class CorrectedMomentumSGDRule(TorchRule):
    """`v = momentum * v - g; p += lr * v`."""

    defaults = _default_hyperparam
    zeros = ("v",)

    def __init__(
        self, parent_hyperparam: Hyperparameter | None = None, lr: float | None = None, momentum: float | None = None
    ) -> None:
        super().__init__(parent_hyperparam, lr=lr, momentum=momentum)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        v = state["v"]
        v.mul_(self.hyperparam.momentum).sub_(grad)
        param.add_(v * self.hyperparam.lr)


class CorrectedMomentumSGD(GradientMethod):
    """Gradient descent with momentum whose velocity does not depend on the learning rate."""

    rule = CorrectedMomentumSGDRule
    lr = HyperparameterProxy("lr")
    momentum = HyperparameterProxy("momentum")

    def __init__(self, lr: float = _default_hyperparam.lr, momentum: float = _default_hyperparam.momentum) -> None:
        super().__init__(lr=lr, momentum=momentum)
