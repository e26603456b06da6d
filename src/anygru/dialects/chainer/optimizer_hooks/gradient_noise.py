"""Noisy gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def exponential_decay_noise(xp: Any, shape: Any, dtype: Any, hook: Any, opt: Any) -> Any:
    """Normal noise of variance `eta / (1 + t)^0.55` (Neelakantan et al., 2015)."""
    std = numpy.sqrt(hook.eta / numpy.power(1 + opt.t, 0.55))
    return xp.random.normal(0, std, shape).astype(dtype)


class GradientNoise:
    """Add noise to the gradients: `noise_func(xp, shape, dtype, hook, rule)`."""

    name = "GradientNoise"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, eta: float, noise_func: Callable[..., Any] = exponential_decay_noise) -> None:
        self.eta = eta
        self.noise_func = noise_func

    def __call__(self, rule: Any, param: Any) -> None:
        grad = param.grad
        if grad is not None:
            grad += self.noise_func(param.xp, grad.shape, grad.dtype, self, rule)
