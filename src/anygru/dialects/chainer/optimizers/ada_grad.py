"""AdaGrad."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(lr=0.001, eps=1e-8)


class AdaGradRule(TorchRule):
    """`h += g^2; p -= lr * g / (sqrt(h) + eps)`."""

    defaults = _default_hyperparam
    zeros = ("h",)

    def __init__(
        self, parent_hyperparam: Hyperparameter | None = None, lr: float | None = None, eps: float | None = None
    ) -> None:
        super().__init__(parent_hyperparam, lr=lr, eps=eps)

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        h = state["h"]
        h.addcmul_(grad, grad)
        param.sub_(grad * self.hyperparam.lr / (h.sqrt() + self.hyperparam.eps))


class AdaGrad(GradientMethod):
    """AdaGrad (Duchi et al., 2011)."""

    rule = AdaGradRule
    lr = HyperparameterProxy("lr")
    eps = HyperparameterProxy("eps")

    def __init__(self, lr: float = _default_hyperparam.lr, eps: float = _default_hyperparam.eps) -> None:
        super().__init__(lr=lr, eps=eps)
