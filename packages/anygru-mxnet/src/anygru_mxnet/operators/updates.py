"""The arithmetic of MXNet's update rules, in place on a weight and its states.

Each function takes the weight, the gradient (rescaled, clipped, with weight decay if the rule adds it to the gradient), the
states, and then numbers. `mx.nd.sgd_update` and similar operators call them by name, `mx.optimizer` by class.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from anygru.extend import single


def prepared(
    gradient: Tensor, weight: Tensor, wd: float, rescale: float, clip: float | None, decay_first: bool
) -> Tensor:
    """The gradient for a rule: rescaled, then clipped. A bound of None or below 0 has no effect."""
    if rescale != 1.0:
        gradient = gradient * rescale
    if decay_first and wd:
        gradient = gradient + wd * weight
    if clip is not None and clip > 0:
        gradient = gradient.clamp(-single(clip), single(clip))
    return gradient


def sgd(weight: Tensor, gradient: Tensor, lr: float, wd: float) -> None:
    # The bound of the gradient excludes the decay (MXNet 1.9.1, recorded).
    if wd:
        weight.mul_(1 - lr * wd)
    weight.add_(gradient, alpha=-lr)


def sgd_momentum(weight: Tensor, gradient: Tensor, state: Tensor, lr: float, wd: float, momentum: float = 0.0) -> None:
    state.mul_(single(momentum)).add_(gradient, alpha=-lr)
    if wd:
        state.add_(weight, alpha=-lr * wd)
    weight.add_(state)


def nesterov(weight: Tensor, gradient: Tensor, state: Tensor, lr: float, wd: float, momentum: float = 0.0) -> None:
    momentum = single(momentum)
    state.mul_(momentum)
    step = gradient + wd * weight
    weight.add_(state - lr * step, alpha=momentum).add_(step, alpha=-lr)
    # The momentum gets the weight decay of the new weight (recorded from 1.9.1).
    state.add_(gradient + wd * weight, alpha=-lr)


def sign_sgd(weight: Tensor, gradient: Tensor, lr: float, wd: float) -> None:
    weight.mul_(1 - lr * wd).add_(torch.sign(gradient), alpha=-lr)


def signum(
    weight: Tensor, gradient: Tensor, state: Tensor, lr: float, wd: float, momentum: float = 0.0, wd_lh: float = 0.0
) -> None:
    # The momentum has the sign of the step, and the factor of the gradient is 1 - momentum (MXNet 1.9.1, recorded).
    state.mul_(momentum).add_(gradient + wd * weight, alpha=-(1 - momentum))
    weight.mul_(1 - lr * wd_lh).add_(torch.sign(state), alpha=lr)


def adam(
    weight: Tensor,
    gradient: Tensor,
    mean: Tensor,
    variance: Tensor,
    lr: float,
    wd: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> None:
    beta1, beta2 = single(beta1), single(beta2)
    mean.mul_(beta1).add_(gradient, alpha=single(1 - beta1))
    variance.mul_(beta2).addcmul_(gradient, gradient, value=single(1 - beta2))
    # `adam_update` has no bias correction; `mx.optimizer.Adam` includes it in the rate (MXNet 1.9.1, recorded).
    weight.addcdiv_(mean, variance.sqrt().add_(single(epsilon)), value=-single(lr))


def adamw(
    weight: Tensor,
    gradient: Tensor,
    mean: Tensor,
    variance: Tensor,
    lr: float,
    wd: float,
    eta: float = 1.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> None:
    """Adam with a weight decay that is independent of the learning rate (Loshchilov, Hutter 2019)."""
    before = weight.clone() if wd else weight
    adam(weight, gradient, mean, variance, lr * eta, 0.0, beta1, beta2, epsilon)
    if wd:
        weight.sub_(before, alpha=eta * wd)


def rmsprop(
    weight: Tensor,
    gradient: Tensor,
    square: Tensor,
    lr: float,
    wd: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    clip_weights: float = -1.0,
) -> None:
    square.mul_(gamma1).addcmul_(gradient, gradient, value=1 - gamma1)
    # Epsilon is inside the root, unlike in torch (MXNet 1.9.1, recorded).
    weight.sub_(lr * gradient / torch.sqrt(square + epsilon))
    _bound(weight, clip_weights)


def rmsprop_centered(
    weight: Tensor,
    gradient: Tensor,
    square: Tensor,
    mean: Tensor,
    delta: Tensor,
    lr: float,
    wd: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    clip_weights: float = -1.0,
) -> None:
    square.mul_(gamma1).addcmul_(gradient, gradient, value=1 - gamma1)
    mean.mul_(gamma1).add_(gradient, alpha=1 - gamma1)
    spread = torch.sqrt(square - mean * mean + epsilon)
    delta.mul_(gamma2).sub_(lr * gradient / spread)
    weight.add_(delta)
    _bound(weight, clip_weights)


def _bound(weight: Tensor, bound: float) -> None:
    if bound > 0:
        weight.clamp_(-bound, bound)


def ftrl(
    weight: Tensor,
    gradient: Tensor,
    z: Tensor,
    n: Tensor,
    lr: float,
    wd: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
) -> None:
    squares = n + gradient * gradient
    z.add_(gradient - (torch.sqrt(squares) - torch.sqrt(n)) * weight / lr)
    n.copy_(squares)
    shrunk = torch.sign(z) * lamda1 - z
    # A product, so that a rate of 0 makes NaN, as in MXNet.
    weight.copy_(shrunk / ((beta + torch.sqrt(n)) / lr + wd) * (z.abs() > lamda1))


def ftml(
    weight: Tensor,
    gradient: Tensor,
    scale: Tensor,
    square: Tensor,
    leader: Tensor,
    lr: float,
    wd: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    t: float = 1,
) -> None:
    beta1, beta2, count = single(beta1), single(beta2), int(t)
    square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    size = (1 - beta1**count) / lr * (torch.sqrt(square / (1 - beta2**count)) + single(epsilon))
    leader.mul_(beta1).add_(gradient, alpha=1 - beta1).sub_((size - beta1 * scale) * weight)
    scale.copy_(size)
    weight.copy_(-leader / size)


class Moments(NamedTuple):
    """The options of the running mean and variance of a gradient."""

    beta1: float
    beta2: float
    epsilon: float
    t: float
    """The number of the step, from 1."""
    bias_correction: bool


def lamb_step(weight: Tensor, gradient: Tensor, mean: Tensor, variance: Tensor, wd: float, moments: Moments) -> Tensor:
    """Adam's step with weight decay, before LAMB scales it."""
    beta1, beta2, count = single(moments.beta1), single(moments.beta2), int(moments.t)
    mean.mul_(beta1).add_(gradient, alpha=single(1 - beta1))
    variance.mul_(beta2).addcmul_(gradient, gradient, value=single(1 - beta2))
    first, second = mean, variance
    if moments.bias_correction:
        first, second = mean / (1.0 - beta1**count), variance / (1.0 - beta2**count)
    return first / (torch.sqrt(second) + single(moments.epsilon)) + wd * weight


def lamb_scaled(
    weight: Tensor,
    step: Tensor,
    size: Tensor,
    other: Tensor,
    lr: float,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
) -> None:
    """Change the weight by LAMB's step, scaled by the norm of the weight over the norm of the step."""
    if lower_bound is not None and lower_bound >= 0:
        size = size.clamp(min=single(lower_bound))
    if upper_bound is not None and upper_bound >= 0:
        size = size.clamp(max=single(upper_bound))
    ratio = torch.where((size > 0) & (other > 0), size / other, torch.ones_like(size))
    weight.sub_(lr * ratio * step)


def lamb(
    weight: Tensor,
    gradient: Tensor,
    mean: Tensor,
    variance: Tensor,
    lr: float,
    wd: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: float = 1,
    bias_correction: bool = True,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> None:
    """LAMB's step (You et al. 2019), scaled by the norms of the weight and of the step."""
    step = lamb_step(weight, gradient, mean, variance, wd, Moments(beta1, beta2, epsilon, t, bias_correction))
    lamb_scaled(weight, step, weight.norm(), step.norm(), lr, lower_bound, upper_bound)


def lars_rate(
    lr: float, weight_squares: float, gradient_squares: float, wd: float, eta: float, eps: float, rescale: float
) -> float:
    """The learning rate of a layer by the norms of its weight and its gradient (You et al. 2017)."""
    size, other = math.sqrt(weight_squares), math.sqrt(gradient_squares) * rescale
    return lr * eta * size / (other + wd * size + eps) if size > 0 and other > 0 else lr
