"""Paddle's update rules, one function each: it changes a parameter `p` and its accumulators in place, by the gradient `g`.

The arguments after `g` are the accumulators in the order of `Optimizer.accumulators`, then the learning rate and the options.
Where a rule differs from the one in torch.optim, its docstring says how. Source: the CPU kernels of Paddle 2.6
(`paddle/phi/kernels/cpu/*_kernel.cc` and `funcs/*_functors.h`), read, and their results, recorded.
"""

import math

import torch

T = torch.Tensor


def sgd(p: T, g: T, lr: float) -> None:
    """Gradient descent."""
    p.sub_(g, alpha=lr)


def momentum(p: T, g: T, velocity: T, lr: float, mu: float, nesterov: bool) -> None:
    """Gradient descent with a velocity (B. Polyak, 1964), or one step ahead of it (Y. Nesterov, 1983)."""
    velocity.mul_(mu).add_(g)
    p.sub_(torch.add(g, velocity, alpha=mu) if nesterov else velocity, alpha=lr)


def adagrad(p: T, g: T, moment: T, lr: float, epsilon: float) -> None:
    """J. Duchi and others, 2011."""
    moment.addcmul_(g, g)
    p.addcdiv_(g, moment.sqrt().add_(epsilon), value=-lr)


def adadelta(p: T, g: T, squared_grad: T, squared_update: T, lr: float, rho: float, epsilon: float) -> None:
    """M. Zeiler, 2012."""
    squared_grad.mul_(rho).addcmul_(g, g, value=1 - rho)
    update = (squared_update + epsilon).div_(squared_grad + epsilon).sqrt_().mul_(g)
    squared_update.mul_(rho).addcmul_(update, update, value=1 - rho)
    p.sub_(update, alpha=lr)


def rmsprop(
    p: T, g: T, moment: T, square: T, mean: T, lr: float, rho: float, epsilon: float, mu: float, centered: bool
) -> None:
    """G. Hinton, lecture 6, 2012. Epsilon stands under the root and the learning rate within the momentum; torch: neither."""
    square.mul_(rho).addcmul_(g, g, value=1 - rho)
    variance = square
    if centered:
        mean.mul_(rho).add_(g, alpha=1 - rho)
        variance = square - mean * mean
    moment.mul_(mu).addcdiv_(g, (variance + epsilon).sqrt_(), value=lr)
    p.sub_(moment)


def adam(
    p: T, g: T, first: T, second: T, power1: T, power2: T, lr: float, beta1: float, beta2: float, epsilon: float
) -> None:
    """D. Kingma, J. Ba, 2015. The powers beta ** step are accumulators of one element, as Paddle's files hold them."""
    first.mul_(beta1).add_(g, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    correction = math.sqrt(1 - float(power2))
    p.addcdiv_(first, second.sqrt().add_(epsilon * correction), value=-lr * correction / (1 - float(power1)))
    power1.mul_(beta1)
    power2.mul_(beta2)


def adamax(p: T, g: T, moment: T, norm: T, power1: T, lr: float, beta1: float, beta2: float, epsilon: float) -> None:
    """D. Kingma, J. Ba, 2015, section 7.1. Epsilon is added to the old maximum; torch adds it to the new one."""
    moment.mul_(beta1).add_(g, alpha=1 - beta1)
    torch.maximum(g.abs(), norm.mul_(beta2).add_(epsilon), out=norm)
    p.addcdiv_(moment, norm, value=-lr / (1 - float(power1)))
    power1.mul_(beta1)


def adamw(
    p: T, g: T, first: T, second: T, power1: T, power2: T, lr: float, beta1: float, beta2: float, epsilon: float,
    decay: float,
) -> None:  # fmt: skip
    """Adam after the parameter has shrunk by lr * decay (I. Loshchilov, F. Hutter, 2019)."""
    p.mul_(1 - lr * decay)
    adam(p, g, first, second, power1, power2, lr, beta1, beta2, epsilon)


def lamb(
    p: T, g: T, first: T, second: T, power1: T, power2: T, lr: float, beta1: float, beta2: float, epsilon: float,
    decay: float, always_adapt: bool,
) -> None:  # fmt: skip
    """Adam scaled by the norms of parameter and update (Y. You and others, 2020)."""
    first.mul_(beta1).add_(g, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    root = (second / (1 - float(power2))).sqrt_().add_(epsilon)
    change = (first / (1 - float(power1))).div_(root).add_(p, alpha=decay)
    if decay != 0 or always_adapt:  # Paddle does not scale the updates of parameters that do not decay
        size, length = p.norm(), change.norm()
        change.mul_(torch.where((size > 0) & (length > 0), size / length, torch.ones_like(size)))
    p.sub_(change, alpha=lr)
    power1.mul_(beta1)
    power2.mul_(beta2)
