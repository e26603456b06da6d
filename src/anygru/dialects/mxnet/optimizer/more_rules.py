"""Update rules that few programs use: LAMB, FTML, DCASGD, and the one for tests."""

from typing import Any

import torch
from torch import Tensor

from ..ndarray.ndarray import NDArray
from ..operators.elementwise import single
from .optimizer import register
from .rules import Rule, TwoMoments, blank

__all__ = ["DCASGD", "FTML", "LAMB", "Test"]


@register
class FTML(Rule):
    """Follow the moving leader (Zheng, Kwok 2017)."""

    _decay_first = True

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, ...]:
        """The scale, the mean square and the leader."""
        return (blank(weight), blank(weight), blank(weight))

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        scale, square, leader = state
        beta1, beta2 = single(self.beta1), single(self.beta2)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        size = (1 - beta1**count) / lr * (torch.sqrt(square / (1 - beta2**count)) + single(self.epsilon))
        leader.mul_(beta1).add_(gradient, alpha=1 - beta1).sub_((size - beta1 * scale) * weight)
        scale.copy_(size)
        weight.copy_(-leader / size)


@register
class DCASGD(Rule):
    """SGD that makes up for gradients that come late (Zheng et al. 2016)."""

    _in_single = False

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict = {}
        self.lamda = lamda

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray | None, NDArray]:
        """The momentum, if there is one, and the weight before."""
        return (blank(weight) if self.momentum else None, weight.copy())

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        momentum, before = state
        step = -lr * (gradient + wd * weight + self.lamda * gradient * gradient * (weight - before))
        if momentum is not None:
            step = momentum.mul_(self.momentum).add_(step)
        before.copy_(weight)
        weight.add_(step)


@register
class Test(Rule):
    """w += g, for tests."""

    __test__ = False  # no test of pytest's

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        """The weight."""
        return blank(weight)

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        weight.add_(gradient)
        state.copy_(weight)


@register
class LAMB(TwoMoments):
    """Adam's steps scaled by the norm of each weight (You et al. 2019)."""

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = 45  # MXNet reads it from a file and steps so many weights at once

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        mean, variance = state
        beta1, beta2 = single(self.beta1), single(self.beta2)
        mean.mul_(beta1).add_(gradient, alpha=single(1 - beta1))
        variance.mul_(beta2).addcmul_(gradient, gradient, value=single(1 - beta2))
        first, second = mean, variance
        if self.bias_correction:
            first, second = mean / (1.0 - beta1**count), variance / (1.0 - beta2**count)
        step = first / (torch.sqrt(second) + single(self.epsilon)) + wd * weight
        size = (
            torch.linalg.vector_norm(weight).clamp(self.lower_bound, self.upper_bound)
            if (self.lower_bound is not None or self.upper_bound is not None)
            else torch.linalg.vector_norm(weight)
        )
        other = torch.linalg.vector_norm(step)
        ratio = torch.where((size > 0) & (other > 0), size / other, torch.ones_like(size))
        weight.sub_(lr * ratio * step)
