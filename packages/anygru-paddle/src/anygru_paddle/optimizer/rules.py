"""Paddle's update rules, one function each: it changes parameters `p` and their accumulators in place, by the gradients `g`.

Each argument before the learning rate is a list with an entry for every parameter that shares the rate and the options: one
call of torch steps them all. `state` holds such a list for each accumulator, in the order of `Optimizer.accumulators`.
The docstring of a rule states its differences from torch.optim. Source: the CPU kernels of Paddle 2.6
(`paddle/phi/kernels/cpu/*_kernel.cc` and `funcs/*_functors.h`), read, and their results, recorded.
"""

import math

import torch

from ..framework.dtype import single

Ts = list[torch.Tensor]
State = list[Ts]
Tensors = list[torch.Tensor] | tuple[torch.Tensor, ...]  # the second from torch's functions on lists


def sgd(p: Ts, g: Ts, state: State, lr: float) -> None:
    """Gradient descent."""
    torch._foreach_sub_(p, g, alpha=lr)


def momentum(p: Ts, g: Ts, state: State, lr: float, mu: float, nesterov: bool) -> None:
    """Gradient descent with a velocity (B. Polyak, 1964), or one step ahead of it (Y. Nesterov, 1983)."""
    (velocity,) = state
    _scale(velocity, mu)
    torch._foreach_add_(velocity, g)
    torch._foreach_sub_(p, torch._foreach_add(g, velocity, alpha=mu) if nesterov else velocity, alpha=lr)


def adagrad(p: Ts, g: Ts, state: State, lr: float, epsilon: float) -> None:
    """J. Duchi and others, 2011."""
    (moment,) = state
    torch._foreach_addcmul_(moment, g, g)
    torch._foreach_addcdiv_(p, g, torch._foreach_add(torch._foreach_sqrt(moment), epsilon), value=-lr)


def _scale(x: Ts, factor: float) -> None:
    """Multiply by one number; torch's functions on lists take it faster as a tensor."""
    dtype = torch.promote_types(x[0].dtype, torch.float32)  # the number is not rounded to a half-precision type
    torch._foreach_mul_(x, torch.full((), factor, dtype=dtype, device=x[0].device))


def _mean(of: Ts, share: float, first: Tensors, second: Tensors | None = None) -> None:
    """Move running means towards `first`, or towards the products of `first` and `second`; `share` of the old stays."""
    _scale(of, share)
    if second is None:
        torch._foreach_add_(of, first, alpha=1 - share)
    else:
        torch._foreach_addcmul_(of, first, second, value=1 - share)


def adadelta(p: Ts, g: Ts, state: State, lr: float, rho: float, epsilon: float) -> None:
    """M. Zeiler, 2012."""
    squared_grad, squared_update = state
    _mean(squared_grad, rho, g, g)
    update = torch._foreach_add(squared_update, epsilon)
    torch._foreach_div_(update, torch._foreach_add(squared_grad, epsilon))
    torch._foreach_sqrt_(update)
    torch._foreach_mul_(update, g)
    _mean(squared_update, rho, update, update)
    torch._foreach_sub_(p, update, alpha=lr)


def rmsprop(p: Ts, g: Ts, state: State, lr: float, rho: float, epsilon: float, momentum: float, centered: bool) -> None:
    """G. Hinton, lecture 6, 2012. Epsilon is under the root and the learning rate within the momentum, unlike in torch."""
    moment, square, mean = state
    # Each product is rounded, as in Paddle 2.6.2 (recorded): the difference of the means makes much of a last digit.
    share = torch._foreach_mul(g, 1 - rho)
    _scale(square, rho)
    torch._foreach_add_(square, torch._foreach_mul(share, g))
    variance: Tensors = square
    if centered:
        _scale(mean, rho)
        torch._foreach_add_(mean, share)
        variance = torch._foreach_sub(square, torch._foreach_mul(mean, mean))
    root = torch._foreach_sqrt(torch._foreach_add(variance, epsilon))
    _scale(moment, momentum)
    torch._foreach_addcdiv_(moment, g, root, value=lr)
    torch._foreach_sub_(p, moment)


def adam(p: Ts, g: Ts, state: State, lr: float, beta1: float, beta2: float, epsilon: float, lazy: bool = False) -> None:
    """D. Kingma, J. Ba, 2015. The powers beta ** step are accumulators of one element, as Paddle's files hold them."""
    first, second, power1, power2 = state
    if lazy:  # only the rows that have a gradient take the step
        rows = [each.flatten(1).any(1).nonzero().squeeze(1) for each in g]
        parts = [[x[i] for x, i in zip(each, rows, strict=True)] for each in (p, g, first, second)]
        adam(parts[0], parts[1], [*parts[2:], power1, power2], lr, beta1, beta2, epsilon)
        for whole, part in zip((p, first, second), (parts[0], *parts[2:]), strict=True):
            for x, i, values in zip(whole, rows, part, strict=True):
                x.index_copy_(0, i, values)
        return
    _mean(first, beta1, g)
    _mean(second, beta2, g, g)
    corrections = [math.sqrt(1 - float(power)) for power in power2]
    root = torch._foreach_sqrt(second)
    torch._foreach_add_(root, [epsilon * correction for correction in corrections])
    rates = [-lr * correction / (1 - float(power)) for correction, power in zip(corrections, power1, strict=True)]
    torch._foreach_addcdiv_(p, first, root, rates)
    _scale(power1, beta1)
    _scale(power2, beta2)


def adamax(p: Ts, g: Ts, state: State, lr: float, beta1: float, beta2: float, epsilon: float) -> None:
    """D. Kingma, J. Ba, 2015, section 7.1. Epsilon is added to the old maximum; torch adds it to the new one."""
    moment, norm, power1 = state
    _mean(moment, single(beta1), g)
    _scale(norm, single(beta2))
    torch._foreach_add_(norm, epsilon)
    torch._foreach_maximum_(norm, torch._foreach_abs(g))
    torch._foreach_addcdiv_(p, moment, norm, [-lr / (1 - float(power)) for power in power1])
    _scale(power1, beta1)


def adamw(p: Ts, g: Ts, state: State, lr: float, beta1: float, beta2: float, epsilon: float, decay: float) -> None:
    """Adam after the parameter has shrunk by lr * decay (I. Loshchilov, F. Hutter, 2019)."""
    _scale(p, 1 - lr * decay)
    adam(p, g, state, lr, beta1, beta2, epsilon)


def lamb(
    p: Ts, g: Ts, state: State, lr: float, beta1: float, beta2: float, epsilon: float, decay: float | None
) -> None:
    """Adam scaled by the norms of parameter and update (Y. You and others, 2020); without `decay` it is not scaled."""
    first, second, power1, power2 = state
    beta1, beta2 = single(beta1), single(beta2)
    _mean(first, beta1, g)
    _mean(second, beta2, g, g)
    root = torch._foreach_sqrt(torch._foreach_div(second, [1 - float(power) for power in power2]))
    torch._foreach_add_(root, epsilon)
    change = torch._foreach_div(first, [1 - float(power) for power in power1])
    torch._foreach_div_(change, root)
    if decay is not None:
        torch._foreach_add_(change, p, alpha=decay)
        sizes = zip(torch._foreach_norm(p), torch._foreach_norm(change), strict=True)
        ones = torch.ones((), dtype=change[0].dtype, device=change[0].device)
        factors = [torch.where((size > 0) & (length > 0), size / length, ones) for size, length in sizes]
        torch._foreach_mul_(change, factors)
    torch._foreach_sub_(p, change, alpha=lr)
    _scale(power1, beta1)
    _scale(power2, beta2)
