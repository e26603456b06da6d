"""Learning rates over time. Each is a formula of the first rate and the number of steps."""

import bisect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from anygru.extend import schedules

from ..optimizer import Optimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CosineDecayLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "PolynomialLR", "StepLR",
]  # fmt: skip


class LRScheduler:
    """The base: `step()` sets every group's rate to `get_lr(base_lr, last_step)`.

    Args:
        optimizer: its groups are changed; the first rate is set at once. last_step: -1 to begin, or the last step of a
            saved run.
        verbose: print each change.
    """

    # The attributes that `state_dict` omits.
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
        # A group that was added after the schedule keeps its rate, as in 0.9.0 (recorded).
        for number, (group, lr) in enumerate(zip(self.optimizer.param_groups, lrs, strict=False)):
            group["lr"] = lr
            if self.verbose:
                self.print_lr(number, lr)

    def print_lr(self, group: int, lr: float) -> None:
        changed = f"adjusting learning rate of param_groups[{group}] to {lr:.5f}"
        print(f"Last step {self.last_step} of {_shown(type(self))} {changed}")

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._apart}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


def _shown(kind: type) -> str:
    """A class as it prints itself; OneFlow's with their path there, a file for each."""
    here = LRScheduler.__module__.rpartition(".")[0]
    if kind.__module__.rpartition(".")[0] != here:
        return str(kind)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower().replace("multi_step", "multistep")
    return f"<class 'oneflow.nn.optimizer.{words}.{kind.__name__}'>"


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
    """Down to eta_min along a cosine, over T_0 steps, and then again over T_mult times the steps, from a rate times decay_rate.

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
    """Multiply by a function of the step; one function for all groups, or a function for each."""

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
        # The state has the attributes of callable objects; functions have no state.
        kept = [None if hasattr(known, "__code__") else known.__dict__.copy() for known in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for known, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if kept is not None:
                known.__dict__.update(kept)
