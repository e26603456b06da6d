"""MXNet's optimizers: arguments, states and rules. The arithmetic is in `operators/updates.py`.

Each rule rescales and clips gradients and adds weight decay in MXNet's order.
"""

import math
from typing import Any

import torch
from torch import Tensor

from anygru.extend import single

from ..ndarray.array import wrap
from ..ndarray.ndarray import NDArray
from ..operators import OPERATORS, updates
from .optimizer import Optimizer, each, register

__all__ = ["NAG", "SGD", "SGLD", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSProp", "Signum", "ccSGD"]


class Rule(Optimizer):
    """A rule with a method `_change(weight, gradient, state, lr, wd, count)` on tensors."""

    # Whether weight decay is added to the gradient before it is clipped.
    _decay_first = False
    # Whether an operator of MXNet computes the rule, with its numbers in float32.
    _in_single = True
    # Whether the rate is corrected in double precision before the operator gets it.
    _rate_follows = False
    # Whether the rule multiplies the gradient array by `rescale_grad`, which has an effect with `grad_req="add"`.
    _scales_in_place = False

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight or several weights in place."""
        for one, values, gradient, own in each(index, weight, grad, state):
            self._update_count(one)
            if self._scales_in_place:
                gradient._t.data.mul_(self.rescale_grad)
            self._step(one, values, gradient._t.detach(), own, self._get_lr(one), self._get_wd(one))

    def _step(self, index: Any, weight: NDArray, gradient: Tensor, state: Any, rate: float, decay: float) -> None:
        assert isinstance(weight, NDArray)
        scale = 1.0 if self._scales_in_place else self.rescale_grad
        if self._in_single:
            decay, scale = single(decay), single(scale)
            rate = rate if self._rate_follows else single(rate)
        with torch.no_grad():
            tensor = weight._t.data
            gradient = updates.prepared(gradient, tensor, decay, scale, self.clip_gradient, self._decay_first)
            self._change(tensor, gradient, _tensors(state), rate, decay, self._index_update_count.get(index, 0))

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        raise NotImplementedError


def _tensors(state: Any) -> Any:
    if isinstance(state, NDArray):
        return state._t.data
    if isinstance(state, (tuple, list)):
        return tuple(_tensors(part) for part in state)
    return state


def blank(weight: NDArray) -> NDArray:
    return wrap(torch.zeros_like(weight._t.detach()), weight._ctx)


@register
class SGD(Rule):
    """w -= lr (g + wd w), with a momentum of these steps."""

    _by_rows = True
    _with_momentum = staticmethod(updates.sgd_momentum)

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        # MXNet's default (1.9.1, observed). It determines the groups of weights in LARS.
        self.aggregate_num = 4

    def create_state(self, index: Any, weight: NDArray) -> NDArray | None:
        """The momentum, or None without momentum."""
        return blank(weight) if self.momentum != 0.0 else None

    # The state of SGD and NAG is (momentum, master); other rules have (master, states): recorded from MXNet 1.9.1.

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """The momentum. With `multi_precision` also a float32 copy of a float16 weight."""
        state = super().create_state_multi_precision(index, weight)
        return state[::-1] if self._has_master(weight) else state

    def _update_one(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        super()._update_one(index, weight, grad, state[::-1] if self._has_master(weight) else state)

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        if state is None:
            updates.sgd(weight, gradient, lr, wd)
        else:
            self._with_momentum(weight, gradient, state, lr, wd, self.momentum)


@register
class ccSGD(SGD):
    """The old name of SGD."""


@register
class NAG(SGD):
    """SGD with Nesterov's momentum."""

    _by_rows = False
    _with_momentum = staticmethod(updates.nesterov)

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(momentum=momentum, **kwargs)
        self.aggregate_num = 0


@register
class Signum(Rule):
    """The sign of a momentum (Bernstein et al. 2018)."""

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Any, weight: NDArray) -> NDArray | None:
        """The momentum, or None without momentum."""
        return blank(weight) if self.momentum != 0.0 else None

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        if state is None:
            updates.sign_sgd(weight, gradient, lr, wd)
        else:
            updates.signum(weight, gradient, state, lr, wd, self.momentum, self.wd_lh)


@register
class SGLD(Rule):
    """Langevin dynamics: half a step and noise (Welling, Teh 2011)."""

    _in_single = False

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        # Half a step with noise of variance lr, as in the paper's Langevin equation.
        weight.add_(gradient + wd * weight, alpha=-lr / 2)
        weight.add_(OPERATORS["_random_normal_like"].compute(weight, 0.0, math.sqrt(lr)))


class TwoMoments(Rule):
    """The base class of rules with a running mean and a second running quantity of each gradient."""

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, ...]:
        """The two running quantities."""
        return (blank(weight), blank(weight))


@register
class Adam(TwoMoments):
    """Adam (Kingma, Ba 2015). Epsilon is added to the square root before the bias correction."""

    _decay_first = True
    _rate_follows = True
    _by_rows = True

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        lr *= math.sqrt(1.0 - self.beta2**count) / (1.0 - self.beta1**count)
        mean, variance = state
        updates.adam(weight, gradient, mean, variance, lr, wd, self.beta1, self.beta2, self.epsilon)


@register
class AdaGrad(Rule):
    """AdaGrad (Duchi et al. 2011)."""

    _in_single = False

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        """The sum of squares."""
        return blank(weight)

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        state.addcmul_(gradient, gradient)
        # Unlike in torch, epsilon is inside the root, and the decay is not divided by the root (MXNet 1.9.1, observed).
        weight.add_(gradient / torch.sqrt(state + self.float_stable_eps) + weight * wd, alpha=-lr)


@register
class RMSProp(Rule):
    """RMSProp (Tieleman, Hinton 2012); centered after Graves 2013."""

    _decay_first = True

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, ...]:
        """The mean square, and for `centered` the mean and the last step."""
        return tuple(blank(weight) for _ in range(3 if self.centered else 1))

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        bound = self.clip_weights or -1.0
        if self.centered:
            square, mean, delta = state
            numbers = (self.gamma1, self.gamma2, self.epsilon, bound)
            updates.rmsprop_centered(weight, gradient, square, mean, delta, lr, wd, *numbers)
        else:
            updates.rmsprop(weight, gradient, state[0], lr, wd, self.gamma1, self.epsilon, bound)


@register
class AdaDelta(TwoMoments):
    """AdaDelta (Zeiler 2012); it has no learning rate."""

    _in_single = False
    _scales_in_place = True

    def __init__(self, rho: float = 0.9, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        gradients, steps = state
        gradients.mul_(self.rho).addcmul_(gradient, gradient, value=1 - self.rho)
        step = torch.sqrt(steps + self.epsilon) / torch.sqrt(gradients + self.epsilon) * gradient
        steps.mul_(self.rho).addcmul_(step, step, value=1 - self.rho)
        # There is no learning rate, so the decay is not scaled.
        weight.sub_(step + wd * weight)


@register
class Adamax(TwoMoments):
    """Adam with the largest gradient as the second moment (Kingma, Ba 2015)."""

    _in_single = False

    _decay_first = True

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        mean, largest = state
        mean.mul_(self.beta1).add_(gradient, alpha=1 - self.beta1)
        torch.maximum(largest.mul_(self.beta2), gradient.abs(), out=largest)
        # There is no epsilon: a gradient that is always 0 makes NaN (MXNet 1.9.1, observed).
        weight.sub_(lr / (1.0 - self.beta1**count) * mean / largest)


@register
class Nadam(TwoMoments):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    _in_single = False

    _decay_first = True

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _momentum(self, count: int) -> float:
        return self.beta1 * (1.0 - 0.5 * 0.96 ** (count * self.schedule_decay))

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        now, following = self._momentum(count), self._momentum(count + 1)
        # All weights share one product, and each weight updates it, so that equal weights get different steps (MXNet 1.9.1,
        # observed).
        self.m_schedule *= now
        mean, variance = state
        mean.mul_(self.beta1).add_(gradient, alpha=1 - self.beta1)
        variance.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        ahead = following * mean / (1.0 - self.m_schedule * following)
        step = (1.0 - now) * gradient / (1.0 - self.m_schedule) + ahead
        weight.sub_(lr * step / (torch.sqrt(variance / (1.0 - self.beta2**count)) + self.epsilon))


@register
class Ftrl(TwoMoments):
    """Follow the regularized leader (McMahan et al. 2013)."""

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        # The base class does not get the rate, so that a scheduler keeps its base rate (MXNet 1.9.1, source).
        self.lr = learning_rate

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        z, n = state
        updates.ftrl(weight, gradient, z, n, lr, wd, self.lamda1, self.beta)
