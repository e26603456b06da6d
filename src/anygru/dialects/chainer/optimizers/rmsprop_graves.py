"""RMSprop as Graves has it."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(lr=1e-4, alpha=0.95, momentum=0.9, eps=1e-4)


class RMSpropGravesRule(TorchRule):
    """RMSprop with the variance of the gradient instead of its mean square, and momentum."""

    defaults = _default_hyperparam
    zeros = ("n", "g", "delta")

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        lr: float | None = None,
        alpha: float | None = None,
        momentum: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam, lr=lr, alpha=alpha, momentum=momentum, eps=eps)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        hyper = self.hyperparam
        n, g, delta = state["n"], state["g"], state["delta"]
        n.mul_(hyper.alpha).add_(grad * grad * (1 - hyper.alpha))
        g.mul_(hyper.alpha).add_(grad * (1 - hyper.alpha))
        delta.mul_(hyper.momentum).sub_(grad * hyper.lr / (n - g * g + hyper.eps).sqrt())
        param.add_(delta)


class RMSpropGraves(GradientMethod):
    """RMSprop as in Graves, Generating Sequences With Recurrent Neural Networks, 2013."""

    rule = RMSpropGravesRule
    lr = HyperparameterProxy("lr")
    alpha = HyperparameterProxy("alpha")
    momentum = HyperparameterProxy("momentum")
    eps = HyperparameterProxy("eps")

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        alpha: float = _default_hyperparam.alpha,
        momentum: float = _default_hyperparam.momentum,
        eps: float = _default_hyperparam.eps,
    ) -> None:
        super().__init__(lr=lr, alpha=alpha, momentum=momentum, eps=eps)
