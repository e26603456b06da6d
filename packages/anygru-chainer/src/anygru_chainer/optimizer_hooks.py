"""Hooks that change gradients before an update."""

from collections.abc import Callable
from typing import Any

import numpy

from ._update_rule import UpdateRule
from .backends._tensors import as_tensor
from .variable import Parameter

__all__ = ["GradientClipping", "GradientHardClipping", "GradientLARS", "GradientNoise", "Lasso", "WeightDecay"]


class GradientClipping:
    """Scale all gradients down together so that their L2 norm is at most `threshold`."""

    name = "GradientClipping"
    timing = "pre"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def __call__(self, opt: Any) -> None:
        params = list(opt.target.params(False))
        squares = [float(as_tensor(param.grad).double().square().sum()) for param in params]
        norm = sum(squares) ** 0.5
        # Up to the threshold gradients do not change; torch's clipping divides by norm + 1e-6 (Chainer 7.8.1,
        # recorded).
        if norm <= self.threshold:
            return
        rate = self.threshold / norm
        for param in params:
            grad = param.grad
            grad *= grad.dtype.type(rate)


class _ForEachParameter:
    """A hook that is called for each parameter with its update rule."""

    call_for_each_param = True
    timing = "pre"
    name: str
    """The name of the hook; a subclass inherits it."""

    def __call__(self, rule: UpdateRule, param: Parameter) -> None:
        raise NotImplementedError


class GradientHardClipping(_ForEachParameter):
    """Hold each element of the gradients between two bounds."""

    name = "GradientHardClipping"

    def __init__(self, lower_bound: float, upper_bound: float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __call__(self, rule: UpdateRule, param: Parameter) -> None:
        if param.grad is not None:
            as_tensor(param.grad).clamp_(self.lower_bound, self.upper_bound)


class GradientLARS(_ForEachParameter):
    """Scale each gradient by the ratio of the parameter's norm to its own (LARS; You et al., 2017).

    Args:
        threshold: parameters of a smaller norm keep the rate 1.
        weight_decay: added to the gradient, as a share of the parameter.
        eps: keeps the ratio finite.
    """

    name = "GradientLARS"

    def __init__(self, threshold: float = 1e-2, weight_decay: float = 0.0, eps: float = 1e-9) -> None:
        self.threshold = threshold
        self.weight_decay = weight_decay
        self.eps = eps

    def __call__(self, rule: UpdateRule, param: Parameter) -> None:
        if param.array is None or param.grad is None:
            return
        p, g = as_tensor(param.array), as_tensor(param.grad)
        p_norm, g_norm = float(p.norm()), float(g.norm())
        rate = p_norm / (self.eps + g_norm + self.weight_decay * p_norm) if p_norm > self.threshold else 1.0
        g.add_(p, alpha=self.weight_decay).mul_(rate)


def exponential_decay_noise(xp: Any, shape: tuple[int, ...], dtype: numpy.dtype, hook: Any, opt: UpdateRule) -> Any:
    """Normal noise of variance `eta / (1 + t)^0.55` (Neelakantan et al., 2015)."""
    std = numpy.sqrt(hook.eta / numpy.power(1 + opt.t, 0.55))
    return xp.random.normal(0, std, shape).astype(dtype)


class GradientNoise(_ForEachParameter):
    """Add noise to the gradients: `noise_func(xp, shape, dtype, hook, rule)`."""

    name = "GradientNoise"

    def __init__(self, eta: float, noise_func: Callable[..., Any] = exponential_decay_noise) -> None:
        self.eta = eta
        self.noise_func = noise_func

    def __call__(self, rule: UpdateRule, param: Parameter) -> None:
        grad = param.grad
        if grad is not None:
            grad += self.noise_func(param.xp, grad.shape, grad.dtype, self, rule)


class Lasso(_ForEachParameter):
    """Add `rate * sign(p)` to the gradients."""

    name = "Lasso"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, rule: UpdateRule, param: Parameter) -> None:
        if param.array is not None and param.grad is not None:
            as_tensor(param.grad).add_(as_tensor(param.array).sign(), alpha=self.rate)


class WeightDecay(_ForEachParameter):
    """Add `rate * p` to the gradients."""

    name = "WeightDecay"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, rule: UpdateRule, param: Parameter) -> None:
        if param.array is not None and param.grad is not None:
            # Hooks of an optimizer see scaled gradients; among Chainer 7.8.1's hooks only this hook corrects for that
            # (`optimizer_hooks/weight_decay.py`, read).
            scale = 1.0 if param._loss_scale is None else param._loss_scale
            as_tensor(param.grad).add_(as_tensor(param.array), alpha=self.rate * scale)
