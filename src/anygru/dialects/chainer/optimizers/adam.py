"""Adam and its relatives.

The step is `alpha * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)`: eps stands beside the uncorrected root, so
it is not torch's eps.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from torch import Tensor

from ..optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, TorchRule

_default_hyperparam: Any = Hyperparameter(
    alpha=0.001,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    eta=1.0,
    weight_decay_rate=0,
    amsgrad=False,
    adabound=False,
    final_lr=0.1,
    gamma=0.001,
)
_D: Any = _default_hyperparam


def check_eps(name: str, eps: float, grad: Tensor) -> None:
    """Raise ValueError if a dtype cannot hold an eps that is not zero."""
    if eps != 0 and float(torch.tensor(eps, dtype=grad.dtype)) == 0:
        raise ValueError(f"eps of {name} optimizer is too small for {str(grad.dtype).removeprefix('torch.')} ({eps})")


def _step_size(hyperparam: Any, t: int) -> float:
    if t == 0:
        raise RuntimeError(
            "Can't determine the learning rate of Adam optimizer because the update steps have not been started."
        )
    return hyperparam.alpha * math.sqrt(1.0 - hyperparam.beta2**t) / (1.0 - hyperparam.beta1**t)


class AdamRule(TorchRule):
    """The update of Adam, AdamW, AMSGrad, AdaBound and AMSBound, by its hyperparameters."""

    defaults = _default_hyperparam

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        alpha: float | None = None,
        beta1: float | None = None,
        beta2: float | None = None,
        eps: float | None = None,
        eta: float | None = None,
        weight_decay_rate: float | None = None,
        amsgrad: bool | None = None,
        adabound: bool | None = None,
        final_lr: float | None = None,
        gamma: float | None = None,
    ) -> None:
        super().__init__(
            parent_hyperparam,
            alpha=alpha,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            eta=eta,
            weight_decay_rate=weight_decay_rate,
            amsgrad=amsgrad,
            adabound=adabound,
            final_lr=final_lr,
            gamma=gamma,
        )
        self.initial_alpha = self.hyperparam.alpha

    def init_state(self, param: Any) -> None:
        for name in ("m", "v", "vhat") if self.hyperparam.amsgrad else ("m", "v"):
            self.state[name] = param.xp.zeros_like(param.array)

    @property
    def alpha_t(self) -> float:
        """The step size at the present step (RuntimeError before the first)."""
        return _step_size(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """The former name of `alpha_t`."""
        return _deprecated_lr(self)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of AdaBound at the present step (RuntimeError before the first)."""
        if self.t == 0:
            raise RuntimeError(
                "Can't determine the bounds of AdaBound optimizer because the update steps have not been started."
            )
        hyper = self.hyperparam
        final = hyper.final_lr * hyper.alpha / self.initial_alpha
        return final * (1.0 - 1.0 / (hyper.gamma * self.t + 1)), final * (1.0 + 1.0 / (hyper.gamma * self.t))

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        hyper, m, v = self.hyperparam, state["m"], state["v"]
        if grad.dtype is torch.float16:
            grad = grad.float()
        check_eps("Adam", hyper.eps, grad)
        m.add_((grad - m) * (1.0 - hyper.beta1))
        v.add_((grad * grad - v) * (1.0 - hyper.beta2))
        second = v
        if hyper.amsgrad:
            second = torch.maximum(state["vhat"], v, out=state["vhat"])
        step = self.alpha_t / (second.to(grad.dtype).sqrt() + hyper.eps)
        if hyper.adabound:
            step = step.clamp(*self.bounds)
        param.mul_(1.0 - hyper.eta * hyper.weight_decay_rate).sub_(step * m * hyper.eta)


def _deprecated_lr(owner: Any) -> float:
    warnings.warn(
        f"{type(owner).__name__}.lr has been renamed to AdamRule.alpha_t. Use of {type(owner).__name__}.lr is deprecated "
        "in Chainer v6.",
        DeprecationWarning,
        stacklevel=3,
    )
    return owner.alpha_t


class Adam(GradientMethod):
    """Adam (Kingma and Ba, 2015), with the variants' options.

    Args:
        alpha, beta1, beta2, eps: step size and the moments' coefficients.
        eta: factor of the whole step, weight decay included.
        weight_decay_rate: decoupled weight decay (AdamW; Loshchilov and Hutter, 2019).
        amsgrad: keep the largest second moment (AMSGrad; Reddi et al., 2018).
        adabound, final_lr, gamma: clip the step size to bounds that close in on `final_lr` (AdaBound; Luo et al., 2019).
    """

    rule = AdamRule
    alpha = HyperparameterProxy("alpha")
    beta1 = HyperparameterProxy("beta1")
    beta2 = HyperparameterProxy("beta2")
    eps = HyperparameterProxy("eps")
    eta = HyperparameterProxy("eta")
    weight_decay_rate = HyperparameterProxy("weight_decay_rate")
    amsgrad = HyperparameterProxy("amsgrad")
    adabound = HyperparameterProxy("adabound")
    final_lr = HyperparameterProxy("final_lr")
    gamma = HyperparameterProxy("gamma")

    def __init__(
        self,
        alpha: float = _D.alpha,
        beta1: float = _D.beta1,
        beta2: float = _D.beta2,
        eps: float = _D.eps,
        eta: float = _D.eta,
        weight_decay_rate: float = _D.weight_decay_rate,
        amsgrad: bool = _D.amsgrad,
        adabound: bool = _D.adabound,
        final_lr: float = _D.final_lr,
        gamma: float = _D.gamma,
    ) -> None:
        super().__init__(
            alpha=alpha,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            eta=eta,
            weight_decay_rate=weight_decay_rate,
            amsgrad=amsgrad,
            adabound=adabound,
            final_lr=final_lr,
            gamma=gamma,
        )

    @property
    def alpha_t(self) -> float:
        """The step size at the present step (RuntimeError before the first)."""
        return _step_size(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """The former name of `alpha_t`."""
        return _deprecated_lr(self)


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        alpha: float = _D.alpha,
        beta1: float = _D.beta1,
        beta2: float = _D.beta2,
        eps: float = _D.eps,
        eta: float = _D.eta,
        weight_decay_rate: float = _D.weight_decay_rate,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, weight_decay_rate)


class AMSGrad(Adam):
    """Adam with the largest second moment."""

    def __init__(
        self,
        alpha: float = _D.alpha,
        beta1: float = _D.beta1,
        beta2: float = _D.beta2,
        eps: float = _D.eps,
        eta: float = _D.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True)


class AdaBound(Adam):
    """Adam with a bounded step size."""

    def __init__(
        self,
        alpha: float = _D.alpha,
        beta1: float = _D.beta1,
        beta2: float = _D.beta2,
        final_lr: float = _D.final_lr,
        gamma: float = _D.gamma,
        eps: float = _D.eps,
        eta: float = _D.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, adabound=True, final_lr=final_lr, gamma=gamma)


class AMSBound(Adam):
    """AMSGrad with a bounded step size."""

    def __init__(
        self,
        alpha: float = _D.alpha,
        beta1: float = _D.beta1,
        beta2: float = _D.beta2,
        final_lr: float = _D.final_lr,
        gamma: float = _D.gamma,
        eps: float = _D.eps,
        eta: float = _D.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True, adabound=True, final_lr=final_lr, gamma=gamma)
