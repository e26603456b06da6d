"""Adam and its relatives.

The step is `alpha * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)`: eps is added to the uncorrected root, so
it is not torch's eps (Chainer 7.8.1, `optimizers/adam.py`, read).
"""

import math
import warnings
from typing import Any

import torch
from torch import Tensor

from .._update_rule import TorchRule
from ..optimizer import GradientMethod
from ..variable import Parameter
from .rules import check_eps

__all__ = ["AMSBound", "AMSGrad", "AdaBound", "Adam", "AdamW"]


def _step_size(hyperparam: Any, t: int) -> float:
    if t == 0:
        raise RuntimeError(
            "Can't determine the learning rate of Adam optimizer because the update steps have not been started."
        )
    return hyperparam.alpha * math.sqrt(1.0 - hyperparam.beta2**t) / (1.0 - hyperparam.beta1**t)


class _StepSize:
    """The step size under its present and its former name, for the rule and for the optimizer."""

    hyperparam: Any
    t: int

    @property
    def alpha_t(self) -> float:
        """The step size at the present step (RuntimeError before the first)."""
        return _step_size(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """The former name of `alpha_t`."""
        own = type(self).__name__
        warnings.warn(
            f"{own}.lr has been renamed to AdamRule.alpha_t. Use of {own}.lr is deprecated in Chainer v6.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.alpha_t


class AdamRule(
    _StepSize,
    TorchRule,
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
):
    """The update of Adam, AdamW, AMSGrad, AdaBound and AMSBound, by its hyperparameters."""

    def set_up(self) -> None:
        self.initial_alpha = self.hyperparam.alpha

    def init_state(self, param: Parameter) -> None:
        for name in ("m", "v", "vhat") if self.hyperparam.amsgrad else ("m", "v"):
            self.state[name] = param.xp.zeros_like(param.array)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of AdaBound at the present step (RuntimeError before the first)."""
        if self.t == 0:
            raise RuntimeError(
                "Can't determine the bounds of AdaBound optimizer because the update steps have not been started."
            )
        hyper = self.hyperparam
        # A schedule that changes `alpha` moves the bounds in proportion (Chainer 7.8.1, `adam.py`, read).
        final = hyper.final_lr * hyper.alpha / self.initial_alpha
        return final * (1.0 - 1.0 / (hyper.gamma * self.t + 1)), final * (1.0 + 1.0 / (hyper.gamma * self.t))

    def update_tensor(self, param: Tensor, grad: Tensor, state: dict[str, Tensor]) -> None:
        hyper, m, v = self.hyperparam, state["m"], state["v"]
        # Half precision is computed in single (Chainer 7.8.1, `_get_intermediate_dtype`, read).
        if grad.dtype is torch.float16:
            grad = grad.float()
        check_eps("Adam", hyper.eps, grad)
        m.add_((grad - m) * (1.0 - hyper.beta1))
        v.add_((grad * grad - v) * (1.0 - hyper.beta2))
        second = v
        if hyper.amsgrad:
            second = torch.maximum(state["vhat"], v, out=state["vhat"])
        # eps joins a root that is not corrected yet (Chainer 7.8.1, `adam.py`, read); torch's Adam corrects the root first.
        step = self.alpha_t / (second.to(grad.dtype).sqrt() + hyper.eps)
        if hyper.adabound:
            step = step.clamp(*self.bounds)
        param.mul_(1.0 - hyper.eta * hyper.weight_decay_rate).sub_(step * m * hyper.eta)


class Adam(_StepSize, GradientMethod, rule=AdamRule):
    """Adam (Kingma and Ba, 2015), with the variants' options.

    Args:
        alpha, beta1, beta2, eps: step size and the moments' coefficients.
        eta: factor of the whole step, weight decay included.
        weight_decay_rate: decoupled weight decay (AdamW; Loshchilov and Hutter, 2019).
        amsgrad: keep the largest second moment (AMSGrad; Reddi et al., 2018).
        adabound, final_lr, gamma: clip the step size to bounds that close in on `final_lr` (AdaBound; Luo et al., 2019).
    """


class AdamW(Adam, arguments="alpha beta1 beta2 eps eta weight_decay_rate"):
    """Adam with decoupled weight decay."""


class AMSGrad(Adam, arguments="alpha beta1 beta2 eps eta", amsgrad=True):
    """Adam with the largest second moment."""


class AdaBound(Adam, arguments="alpha beta1 beta2 final_lr gamma eps eta", adabound=True):
    """Adam with a bounded step size."""


class AMSBound(Adam, arguments="alpha beta1 beta2 final_lr gamma eps eta", amsgrad=True, adabound=True):
    """AMSGrad with a bounded step size."""
