"""Optimizers that few programs use: LAMB, LARS, LBSGD, FTML, DCASGD, and MXNet's `Test`."""

import math
from typing import Any

import torch
from torch import Tensor

from ..ndarray.ndarray import NDArray
from ..operators import updates
from .optimizer import each, register
from .optimizers import SGD, Rule, TwoMoments, blank

__all__ = ["DCASGD", "FTML", "LAMB", "LARS", "LBSGD", "Test"]


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
        """The three running quantities of FTML."""
        return (blank(weight), blank(weight), blank(weight))

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        scale, square, leader = state
        updates.ftml(weight, gradient, scale, square, leader, lr, wd, self.beta1, self.beta2, self.epsilon, count)


@register
class DCASGD(Rule):
    """SGD that compensates delayed gradients (Zheng et al. 2016)."""

    _in_single = False

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict = {}
        self.lamda = lamda

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray | None, NDArray]:
        """The momentum (or None), and the previous weight."""
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

    __test__ = False  # not a test for pytest

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        """The weight."""
        return blank(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """w += rescale_grad * g, without decay, clipping and counts of steps (MXNet 1.9.1, recorded)."""
        weight[:] += grad * self.rescale_grad
        state[:] = weight


@register
class LAMB(TwoMoments):
    """Adam with steps that are scaled by the norm of each weight (You et al. 2019)."""

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
        self.aggregate_num = 45  # MXNet's default
        self._half: NDArray | None = None

    def _update_one(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        # MXNet 1.9.1 computes the norm from the float16 weight, with squares in float16, not from its float32 copy (recorded).
        self._half = weight if self._has_master(weight) else None
        super()._update_one(index, weight, grad, state)
        self._half = None

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        mean, variance = state
        moments = updates.Moments(self.beta1, self.beta2, self.epsilon, count, self.bias_correction)
        step = updates.lamb_step(weight, gradient, mean, variance, wd, moments)
        held = weight if self._half is None else self._half._t.detach()
        whole = held.square().to(torch.promote_types(held.dtype, torch.float32))
        sizes = whole.sum().sqrt(), torch.linalg.vector_norm(step)
        updates.lamb_scaled(weight, step, *sizes, lr, self.lower_bound, self.upper_bound)


@register
class LARS(SGD):
    """SGD with a rate from the norms of each weight and its gradient (You et al. 2017).

    The rate of biases, gammas and betas is not scaled. With `momentum_correction` a change of the rate scales the momentum.
    """

    _by_rows = False

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0.0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum=momentum, lazy_update=lazy_update, **kwargs)
        self.momentum_correction = momentum_correction
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: float | None = None
        self.cur_lr: float | None = None
        self._looks = True

    def set_wd_mult(self, args_wd_mult: dict) -> None:
        """Set factors on the weight decay, by index or name. Parameters that are not weights by name get 0."""
        self.wd_mult = {n: 0.0 for n in self.idx2name.values() if not n.endswith("_weight")}
        self.wd_mult.update(args_wd_mult)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        for place, one in enumerate(each(index, weight, grad, state)):
            # MXNet 1.9.1 reads the rate once per call, and an updater makes several calls per step (recorded).
            self._looks = place == 0
            self._update_one(*one)
        self._looks = True

    def _step(self, index: Any, weight: NDArray, gradient: Tensor, state: Any, rate: float, decay: float) -> None:
        if self._looks:
            now = self.learning_rate
            self.last_lr, self.cur_lr = now if self.cur_lr is None else self.cur_lr, now
        # MXNet 1.9.1 recognises layers by the ends of their names (source).
        if not self.idx2name.get(index, str(index)).endswith(("gamma", "beta", "bias")):
            size, other = (float(values.detach().float().square().sum()) for values in (weight._t, gradient))
            rate = updates.lars_rate(rate, size, other, decay, self.eta, self.eps, self.rescale_grad)
        before = self.momentum
        if self.momentum_correction and self.last_lr:
            self.momentum *= self.cur_lr / self.last_lr  # type: ignore[operator]
        super()._step(index, weight, gradient, state, rate, decay)
        self.momentum = before


@register
class LBSGD(SGD):
    """SGD for large batches: it sums the gradients of `batch_scale` steps, and has a warm-up (Goyal et al. 2017)."""

    _by_rows = False

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum=momentum, multi_precision=multi_precision, **kwargs)
        self.aggregate_num = 0
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        # This attribute, `adaptive` and `admult` are unused, as in MXNet 1.9.1, but part of its pickles (source).
        self.lbmult = 1
        self.cumgrads: dict = {}
        self.adaptive = False
        self.admult = 1

    # Unlike in SGD the state is (master, momentum): recorded from MXNet 1.9.1.
    create_state_multi_precision = Rule.create_state_multi_precision
    _update_one = Rule._update_one

    def _warmed_up(self, count: int) -> float:
        steps, most = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if count >= steps:
            return most
        share = {"linear": count / steps, "power2": (count / steps) ** 2, "sqrt": math.sqrt(count / steps)}
        return 1.0 + (most - 1) * share.get(self.warmup_strategy, 0.0) if steps > 1 else 1.0

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Add a gradient, and change the weight in place at every `batch_scale`-th call."""
        rate, decay = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        known = self.cumgrads.get(index, {"cum_grad": 0, "num_cums": self.init_updates})
        total, count = known["cum_grad"] + grad, known["num_cums"] + 1
        self.cumgrads[index] = {"cum_grad": total, "num_cums": count}
        if count % self.batch_scale:
            return
        mean = (total / self.batch_scale)._t.detach()
        if self.warmup_strategy == "lars":
            squares, others = (float(values.square().sum()) for values in (weight._t.detach(), mean))
            # The bounds and 1e-18 are MXNet 1.9.1's (`_get_lars`, source), as is the root of squared norms instead of norms.
            factor = min(max(math.sqrt(squares / (others + decay * squares + 1e-18)), 0.01), 100.0)
        else:
            factor = self._warmed_up(count)
        self._step(index, weight, mean, state, rate * factor, decay)
        self.cumgrads[index]["cum_grad"] = 0
