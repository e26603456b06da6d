"""Optimizers: a rule declares its hyperparameters and defines the update of one tensor.

The arithmetic of each rule is Chainer 7.8.1's `update_core_cpu`, tested against recorded traces. Adam's step is
`alpha * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)`: eps is added to the uncorrected root, so it is not torch's
eps (`optimizers/adam.py`, read).
"""

import math
import warnings
from typing import Any

import torch
from torch import Tensor

from ._update_rule import TorchRule
from .optimizer import GradientMethod
from .variable import Parameter

__all__ = [
    "AMSBound", "AMSGrad", "AdaBound", "AdaDelta", "AdaGrad", "Adam", "AdamW", "CorrectedMomentumSGD", "MSVAG",
    "MomentumSGD", "NesterovAG", "RMSprop", "RMSpropGraves", "SGD", "SMORMS3",
]  # fmt: skip


State = dict[str, Tensor]


def check_eps(name: str, eps: float, grad: Tensor) -> None:
    """Raise ValueError if a dtype cannot hold an eps that is not zero."""
    if eps != 0 and float(torch.tensor(eps, dtype=grad.dtype)) == 0:
        raise ValueError(f"eps of {name} optimizer is too small for {str(grad.dtype).removeprefix('torch.')} ({eps})")


class SGDRule(TorchRule, lr=0.01):
    """`p -= lr * g`."""

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        param.sub_(grad * self.hyperparam.lr)


class SGD(GradientMethod, rule=SGDRule):
    """Stochastic gradient descent with learning rate `lr`."""


class MomentumSGDRule(TorchRule, lr=0.01, momentum=0.9):
    """`v = momentum * v - lr * g; p += v`."""

    zeros = ("v",)

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        v = state["v"]
        v.mul_(self.hyperparam.momentum).sub_(grad * self.hyperparam.lr)
        param.add_(v)


class MomentumSGD(GradientMethod, rule=MomentumSGDRule):
    """Gradient descent with learning rate `lr` and momentum."""


class CorrectedMomentumSGDRule(TorchRule, lr=0.01, momentum=0.9):
    """`v = momentum * v - g; p += lr * v`."""

    zeros = ("v",)

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        v = state["v"]
        v.mul_(self.hyperparam.momentum).sub_(grad)
        param.add_(v * self.hyperparam.lr)


class CorrectedMomentumSGD(GradientMethod, rule=CorrectedMomentumSGDRule):
    """Gradient descent with momentum; the velocity does not depend on the learning rate, as in torch."""


class NesterovAGRule(TorchRule, lr=0.01, momentum=0.9):
    """`v = momentum * v - lr * g; p += momentum^2 * v - (1 + momentum) * lr * g`."""

    zeros = ("v",)

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        lr, momentum = self.hyperparam.lr, self.hyperparam.momentum
        v = state["v"]
        v.mul_(momentum).sub_(grad * lr)
        # v is the new velocity here, where Bengio et al. take the old one (Chainer 7.8.1, `nesterov_ag.py`, recorded).
        param.add_(v * (momentum * momentum)).sub_(grad * ((1 + momentum) * lr))


class NesterovAG(GradientMethod, rule=NesterovAGRule):
    """Nesterov's accelerated gradient (Bengio et al., 2012)."""


class AdaGradRule(TorchRule, lr=0.001, eps=1e-8):
    """`h += g^2; p -= lr * g / (sqrt(h) + eps)`."""

    zeros = ("h",)

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        h = state["h"]
        h.addcmul_(grad, grad)
        # eps is outside the root here and inside it in AdaDelta and RMSpropGraves (Chainer 7.8.1, read).
        param.sub_(grad * self.hyperparam.lr / (h.sqrt() + self.hyperparam.eps))


class AdaGrad(GradientMethod, rule=AdaGradRule):
    """AdaGrad (Duchi et al., 2011)."""


class AdaDeltaRule(TorchRule, rho=0.95, eps=1e-6):
    """`d = sqrt((msdx + eps) / (msg + eps)) * g; p -= d`, with running means of g^2 (msg) and d^2 (msdx)."""

    zeros = ("msg", "msdx")

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        rho, eps = self.hyperparam.rho, self.hyperparam.eps
        msg, msdx = state["msg"], state["msdx"]
        msg.mul_(rho).add_(grad * grad * (1 - rho))
        change = ((msdx + eps) / (msg + eps)).sqrt() * grad
        msdx.mul_(rho).add_(change * change * (1 - rho))
        param.sub_(change)


class AdaDelta(GradientMethod, rule=AdaDeltaRule):
    """AdaDelta (Zeiler, 2012)."""


class RMSpropRule(TorchRule, lr=0.01, alpha=0.99, eps=1e-8, eps_inside_sqrt=False):
    """`ms = alpha * ms + (1 - alpha) * g^2; p -= lr * g / (sqrt(ms) + eps)`."""

    zeros = ("ms",)

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        hyper, ms = self.hyperparam, state["ms"]
        check_eps("RMSprop", hyper.eps, grad)
        ms.mul_(hyper.alpha).add_(grad * grad * (1 - hyper.alpha))
        root = (ms + hyper.eps).sqrt() if hyper.eps_inside_sqrt else ms.sqrt() + hyper.eps
        param.sub_(grad * hyper.lr / root)


class RMSprop(GradientMethod, rule=RMSpropRule):
    """RMSprop (Tieleman and Hinton, 2012); `eps_inside_sqrt` puts eps where TensorFlow has it."""


class RMSpropGravesRule(TorchRule, lr=1e-4, alpha=0.95, momentum=0.9, eps=1e-4):
    """RMSprop with the variance of the gradient instead of its mean square, and momentum."""

    zeros = ("n", "g", "delta")

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        hyper = self.hyperparam
        n, g, delta = state["n"], state["g"], state["delta"]
        n.mul_(hyper.alpha).add_(grad * grad * (1 - hyper.alpha))
        g.mul_(hyper.alpha).add_(grad * (1 - hyper.alpha))
        delta.mul_(hyper.momentum).sub_(grad * hyper.lr / (n - g * g + hyper.eps).sqrt())
        param.add_(delta)


class RMSpropGraves(GradientMethod, rule=RMSpropGravesRule):
    """RMSprop as in Graves, Generating Sequences With Recurrent Neural Networks, 2013."""


class SMORMS3Rule(TorchRule, lr=0.001, eps=1e-16):
    """A step of `g * min(lr, x) / sqrt(g2)` with `x = mean(g)^2 / mean(g^2)` over a memory that x itself sets."""

    zeros = ("g", "g2")

    def init_state(self, param: Parameter) -> None:
        self.state["mem"] = param.xp.ones_like(param.array)
        super().init_state(param)

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        mem, g, g2 = state["mem"], state["g"], state["g2"]
        eps = self.hyperparam.eps
        share = 1 / (mem + 1)
        g.mul_(1 - share).add_(share * grad)
        g2.mul_(1 - share).add_(share * grad * grad)
        x = g * g / (g2 + eps)
        param.sub_(grad * x.clamp(max=self.hyperparam.lr) / (g2.sqrt() + eps))
        mem.mul_(1 - x).add_(1)


class SMORMS3(GradientMethod, rule=SMORMS3Rule):
    """SMORMS3 (Funk, 2015)."""


class MSVAGRule(TorchRule, lr=0.1, beta=0.9, eta=1.0, weight_decay_rate=0):
    """`p -= eta * (lr * f * m + weight_decay_rate * p)`, where f = m^2 / (m^2 + rho * s) by the estimated variance s."""

    zeros = ("m", "v")

    def set_up(self) -> None:
        self.beta_power = self.hyperparam.beta  # no part of a snapshot, as in Chainer 7.8.1 (read)

    def update_tensor(self, param: Tensor, grad: Tensor, state: State) -> None:
        hyper, m, v, power = self.hyperparam, state["m"], state["v"], self.beta_power
        own = (1.0 - hyper.beta) ** 2 * (1.0 - power**2) / ((1.0 - power) ** 2 * (1.0 - hyper.beta**2))
        # Below 1, so that the estimate of the variance stays finite (Chainer 7.8.1, `msvag.py`, read).
        rho = min(own, 0.9999)
        m.add_((grad - m) * (1.0 - hyper.beta))
        v.add_((grad * grad - v) * (1.0 - hyper.beta))
        mean, square = m / (1.0 - power), v / (1.0 - power)
        squared = mean * mean
        variance = (square - squared) / (1.0 - rho)
        # An element with only zero gradients is 0 / 0, and does not change (Chainer 7.8.1, `msvag.py`, recorded).
        factor = (squared / (squared + rho * variance)).clamp(0, 1).nan_to_num(nan=0.0)
        param.sub_((hyper.lr * mean * factor + hyper.weight_decay_rate * param) * hyper.eta)
        self.beta_power = power * hyper.beta


class MSVAG(GradientMethod, rule=MSVAGRule):
    """M-SVAG (Balles and Hennig, 2018), the variance-adapted momentum, with decoupled weight decay.

    Args:
        lr: the learning rate.
        beta: the coefficient of both moments.
        eta: factor of the whole step.
        weight_decay_rate: decoupled weight decay.
    """


def _step_size(hyperparam: Any, t: int) -> float:
    if t == 0:
        raise RuntimeError(
            "Can't determine the learning rate of Adam optimizer because the update steps have not been started."
        )
    return hyperparam.alpha * math.sqrt(1.0 - hyperparam.beta2**t) / (1.0 - hyperparam.beta1**t)


class _StepSize:
    """The step size under its current and its old name, for the rule and for the optimizer."""

    hyperparam: Any
    t: int

    @property
    def alpha_t(self) -> float:
        """The step size at the present step (RuntimeError before the first)."""
        return _step_size(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """The old name of `alpha_t`."""
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
