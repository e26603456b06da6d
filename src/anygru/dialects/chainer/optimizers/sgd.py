"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(lr=0.01)


class SGDRule(TorchRule):
    """`p -= lr * g`."""

    defaults = _default_hyperparam

    def __init__(self, parent_hyperparam: Hyperparameter | None = None, lr: float | None = None) -> None:
        super().__init__(parent_hyperparam, lr=lr)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        param.sub_(grad * self.hyperparam.lr)


class SGD(GradientMethod):
    """Stochastic gradient descent with learning rate `lr`."""

    rule = SGDRule
    lr = HyperparameterProxy("lr")

    def __init__(self, lr: float = _default_hyperparam.lr) -> None:
        super().__init__(lr=lr)
