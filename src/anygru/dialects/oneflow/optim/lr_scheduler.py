"""Learning rates over time. Each is a formula of the first rate and the number of steps, whatever came in between."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._kit import schedules
from .optimizer import Optimizer
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau


class LRScheduler:
    """The base: `step()` sets every group's rate to `get_lr(base_lr, last_step)`.

    Args:
        optimizer: whose groups are changed; the first rate is set at once.
        last_step: -1 to begin, or the step at which a saved run stood.
        verbose: print each change.
    """

    # What `state_dict` leaves out.
    _apart: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_step: int = -1, verbose: bool = False) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer object")
        self.optimizer = optimizer
        self.last_step = last_step
        self.verbose = verbose
        self._init_base_lrs()
        self.step()

    def _init_base_lrs(self) -> None:
        for number, group in enumerate(self.optimizer.param_groups):
            if self.last_step == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming an optimizer"
                )
        self.base_lrs = [group["initial_lr"] for group in self.optimizer.param_groups]

    def get_lr(self, base_lr: float, step: int) -> float:
        """The rate after `step` steps."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The rates that the last step set, one a group."""
        return self._last_lr

    def step(self) -> None:
        self.last_step += 1
        self.update_lrs([self.get_lr(base_lr, self.last_step) for base_lr in self.base_lrs])

    def update_lrs(self, lrs: Sequence[float]) -> None:
        self._last_lr = list(lrs)
        for number, (group, lr) in enumerate(zip(self.optimizer.param_groups, lrs, strict=True)):
            group["lr"] = lr
            if self.verbose:
                self.print_lr(number, lr)

    def print_lr(self, group: int, lr: float) -> None:
        print(
            f"Last step {self.last_step} of {type(self)} adjusting learning rate of param_groups[{group}] to {lr:.5f}"
        )

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._apart}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


class StepLR(LRScheduler):
    """Times gamma at every step_size steps."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_step: int = -1, verbose: bool = False
    ) -> None:
        assert step_size > 0, f"step_size must greater than zero, but got {step_size}"
        assert gamma > 0.0, f"gamma must greater than zero, but got {gamma}"
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_step: int = -1,
        verbose: bool = False,
    ) -> None:  # fmt: skip
        assert all(after > before for before, after in zip(milestones, milestones[1:], strict=False)), (
            "milestones must increase"
        )
        assert gamma > 0.0, f"gamma must greater than zero, but got {gamma}"
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.gamma ** bisect.bisect_right(self.milestones, step)


class ExponentialLR(LRScheduler):
    """Times gamma at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_step: int = -1, verbose: bool = False) -> None:
        if gamma <= 0.0:
            raise ValueError(f"'gamma' must be greater than zero, but got {gamma}")
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.gamma**step


class CosineAnnealingLR(LRScheduler):
    """Down to eta_min over T_max steps along a cosine, and up again."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_step: int = -1, verbose: bool = False
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return schedules.cosine(base_lr, self.eta_min, step, self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to eta_min along a cosine, over T_0 steps and then over T_mult times as many, from a rate times decay_rate.

    After restart_limit rounds (0: no limit) it stays at eta_min.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        decay_rate: float = 1.0,
        restart_limit: int = 0,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.decay_rate = decay_rate
        self.restart_limit = restart_limit
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        rounds, length = 0, self.T_0
        while step >= length:
            step -= length
            length *= self.T_mult
            rounds += 1
        if 0 < self.restart_limit <= rounds:
            return self.eta_min
        return schedules.cosine(base_lr * self.decay_rate**rounds, self.eta_min, step, length)


class CosineDecayLR(LRScheduler):
    """Down to alpha of the rate over decay_steps steps along a cosine, and constant from there."""

    def __init__(
        self, optimizer: Optimizer, decay_steps: int, alpha: float = 0.0, last_step: int = -1, verbose: bool = False
    ) -> None:
        assert decay_steps > 0, f"decay_steps must greater than zero, but got {decay_steps}"
        self.decay_steps = decay_steps
        self.alpha = alpha
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        if step >= self.decay_steps:
            return base_lr * self.alpha
        return base_lr * schedules.cosine(1, self.alpha, step, self.decay_steps)


class PolynomialLR(LRScheduler):
    """Down to end_learning_rate over decay_batch steps along a power; with cycle, again over longer times."""

    def __init__(
        self,
        optimizer: Optimizer,
        decay_batch: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        assert decay_batch > 0, f"decay_batch must greater than zero, but got {decay_batch}"
        self.max_decay_steps = decay_batch
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        length = self.max_decay_steps
        if self.cycle:
            length *= math.ceil(max(step, 1) / length)
            step = max(step, 1)
        return schedules.polynomial(base_lr, self.end_learning_rate, min(step, length), length, self.power)


class ConstantLR(LRScheduler):
    """Times factor for total_iters steps."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_step: int = -1,
        verbose: bool = False,
    ) -> None:  # fmt: skip
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.factor if step < self.total_iters else base_lr


class LinearLR(LRScheduler):
    """Times a factor that goes from start_factor to end_factor over total_iters steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 <= start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be between 0 and 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        if step >= self.total_iters:
            return base_lr * self.end_factor
        return base_lr * (self.start_factor + (self.end_factor - self.start_factor) * (step / self.total_iters))


class LambdaLR(LRScheduler):
    """Times what a function of the step gives; a function for all groups, or one for each."""

    _apart = ("optimizer", "lr_lambdas")

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        assert len(self.lr_lambdas) == groups, f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}"
        super().__init__(optimizer, last_step, verbose)

    def step(self) -> None:
        self.last_step += 1
        factors = [factor(self.last_step) for factor in self.lr_lambdas]
        self.update_lrs([base_lr * factor for base_lr, factor in zip(self.base_lrs, factors, strict=True)])

    def state_dict(self) -> dict[str, Any]:
        # Of callable objects their attributes are kept, of functions nothing.
        kept = [None if hasattr(known, "__code__") else known.__dict__.copy() for known in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for known, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if kept is not None:
                known.__dict__.update(kept)


class _OfSchedulers(LRScheduler):
    """A scheduler made of others."""

    _apart = ("optimizer", "schedulers")
    schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "schedulers": [scheduler.state_dict() for scheduler in self.schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "schedulers"})
        for scheduler, state in zip(self.schedulers, state_dict["schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_OfSchedulers):
    """One scheduler after another, at the milestones; with interval_rescaling, each counts its steps from its own."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        interval_rescaling: bool | Sequence[bool] = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if len(schedulers) == 0:
            raise ValueError("Sequential Schedulers expects at least one scheduler")
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("Sequential Schedulers expects all schedulers to belong to the same optimizer")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        if isinstance(interval_rescaling, bool):
            interval_rescaling = [interval_rescaling] * len(milestones)
        elif len(interval_rescaling) != len(milestones):
            raise ValueError("'interval_rescaling' expects a bool or a list of bool, one a milestone")
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        self.interval_rescaling = list(interval_rescaling)
        super().__init__(optimizer, last_step, verbose)

    def step(self) -> None:
        self.last_step += 1
        current, step = bisect.bisect_right(self.milestones, self.last_step), self.last_step
        if current > 0 and self.interval_rescaling[current - 1]:
            step -= self.milestones[current - 1]
        scheduler = self.schedulers[current]
        scheduler.last_step = step
        self.update_lrs([scheduler.get_lr(base_lr, step) for base_lr in self.base_lrs])


class ChainedScheduler(_OfSchedulers):
    """Each scheduler works on the rate that the one before it gives."""

    def __init__(self, schedulers: Sequence[LRScheduler]) -> None:
        if not schedulers or not all(isinstance(scheduler, LRScheduler) for scheduler in schedulers):
            raise ValueError("ChainedScheduler expects a list of schedulers")
        if any(scheduler.optimizer is not schedulers[0].optimizer for scheduler in schedulers):
            raise ValueError("ChainedScheduler expects all schedulers to belong to the same optimizer")
        self.schedulers = list(schedulers)
        super().__init__(schedulers[0].optimizer)

    def step(self) -> None:
        self.last_step += 1
        lrs = list(self.schedulers[0].base_lrs)
        for scheduler in self.schedulers:
            lrs = [scheduler.get_lr(lr, self.last_step) for lr in lrs]
            scheduler.last_step = self.last_step
        self.update_lrs(lrs)


class WarmupLR(SequentialLR):
    """A linear or constant beginning of warmup_iters steps before an optimizer's rate or another scheduler's.

    With warmup_prefix the other scheduler begins after the warm-up; without, the warm-up replaces its beginning.
    """

    def __init__(
        self,
        scheduler_or_optimizer: LRScheduler | Optimizer,
        warmup_factor: float = 1.0 / 3,
        warmup_iters: int = 5,
        warmup_method: str = "linear",
        warmup_prefix: bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(scheduler_or_optimizer, (LRScheduler, Optimizer)):
            raise ValueError(
                "'scheduler_or_optimizer' must be a LRScheduler or an Optimizer, but got "
                f"{type(scheduler_or_optimizer)}"
            )
        if warmup_method not in ("linear", "constant"):
            raise ValueError(f"'warmup_method' must be 'linear' or 'constant', but got {warmup_method}")
        inner = scheduler_or_optimizer if isinstance(scheduler_or_optimizer, LRScheduler) else None
        optimizer: Any = inner.optimizer if inner is not None else scheduler_or_optimizer
        if inner is None and warmup_iters == 0:
            raise ValueError("When 'scheduler_or_optimizer' is an optimizer warmup_iters can't be equal to 0")
        self.warmup_factor = warmup_factor
        self.warmup_iters = warmup_iters
        self.warmup_method = warmup_method
        self.warmup_prefix = warmup_prefix
        self.optimizer = optimizer
        self.last_step = last_step
        self._init_base_lrs()
        schedulers: list[LRScheduler] = []
        if warmup_iters > 0:
            schedulers.append(self._warmup(inner, last_step, verbose))
        milestones = [warmup_iters] if inner is not None and schedulers else []
        if inner is not None:
            schedulers.append(inner)
        rescaling = [warmup_prefix] * len(milestones)
        super().__init__(self.optimizer, schedulers, milestones, rescaling, last_step, verbose)

    def _warmup(self, inner: LRScheduler | None, last_step: int, verbose: bool) -> LRScheduler:
        if self.warmup_method == "constant":
            return ConstantLR(self.optimizer, self.warmup_factor, self.warmup_iters, last_step, verbose)
        end = 1.0
        if inner is not None and not self.warmup_prefix:
            base = self.base_lrs[0]
            if any(not math.isclose(base, other) for other in self.base_lrs):
                raise ValueError(
                    "The param_groups in optimizer have different warmup configs; use different optimizers."
                )
            end = inner.get_lr(base, self.warmup_iters) / base
        return LinearLR(self.optimizer, self.warmup_factor, end, self.warmup_iters, last_step, verbose)


WarmUpLR = WarmupLR
