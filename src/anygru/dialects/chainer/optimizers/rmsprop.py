"""RMSprop."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule
from ..optimizers.adam import check_eps

_default_hyperparam: Any = Hyperparameter(lr=0.01, alpha=0.99, eps=1e-8, eps_inside_sqrt=False)


class RMSpropRule(TorchRule):
    """`ms = alpha * ms + (1 - alpha) * g^2; p -= lr * g / (sqrt(ms) + eps)`."""

    defaults = _default_hyperparam
    zeros = ("ms",)

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        lr: float | None = None,
        alpha: float | None = None,
        eps: float | None = None,
        eps_inside_sqrt: bool | None = None,
    ) -> None:
        super().__init__(parent_hyperparam, lr=lr, alpha=alpha, eps=eps, eps_inside_sqrt=eps_inside_sqrt)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        hyper, ms = self.hyperparam, state["ms"]
        check_eps("RMSprop", hyper.eps, grad)
        ms.mul_(hyper.alpha).add_(grad * grad * (1 - hyper.alpha))
        root = (ms + hyper.eps).sqrt() if hyper.eps_inside_sqrt else ms.sqrt() + hyper.eps
        param.sub_(grad * hyper.lr / root)


class RMSprop(GradientMethod):
    """RMSprop (Tieleman and Hinton, 2012); `eps_inside_sqrt` puts eps where TensorFlow has it."""

    rule = RMSpropRule
    lr = HyperparameterProxy("lr")
    alpha = HyperparameterProxy("alpha")
    eps = HyperparameterProxy("eps")
    eps_inside_sqrt = HyperparameterProxy("eps_inside_sqrt")

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        alpha: float = _default_hyperparam.alpha,
        eps: float = _default_hyperparam.eps,
        eps_inside_sqrt: bool = _default_hyperparam.eps_inside_sqrt,
    ) -> None:
        super().__init__(lr=lr, alpha=alpha, eps=eps, eps_inside_sqrt=eps_inside_sqrt)
