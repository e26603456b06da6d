"""Schedulers that combine others: in sequence, chained, or after a warm-up."""

import bisect
import math
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .formulas import ConstantLR, LinearLR, LRScheduler

__all__ = ["ChainedScheduler", "SequentialLR", "WarmUpLR", "WarmupLR"]


class _OfSchedulers(LRScheduler):
    """A scheduler that combines other schedulers."""

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
    """Each scheduler works on the rate of the previous scheduler."""

    def __init__(self, schedulers: Sequence[LRScheduler]) -> None:
        if (
            not isinstance(schedulers, Sequence)
            or not schedulers
            or not all(isinstance(scheduler, LRScheduler) for scheduler in schedulers)
        ):
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
        # This comes before the parts are made, since each part sets the rates of its first step in its constructor.
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
