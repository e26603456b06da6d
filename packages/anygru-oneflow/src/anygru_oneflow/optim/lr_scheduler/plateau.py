"""The learning rate that follows a measure, not the number of steps."""

import math
from collections.abc import Sequence
from typing import Any, SupportsFloat

from ..optimizer import Optimizer


class ReduceLROnPlateau:
    """Multiplies the rate by `factor` if the measure given to `step` has not improved for more than `patience` steps.

    Args:
        mode: "min" or "max": whether a lower or a higher measure is better.
        threshold, threshold_mode: the difference that counts as better, in proportion ("rel") or absolutely ("abs").
        cooldown: steps after a change that do not count.
        min_lr: the least rate, for all groups or for each group.
        eps: smaller changes of the rate are ignored.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer object")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.optimizer = optimizer
        self.factor = factor
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.cooldown_counter = 0
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.best = self.mode_worse
        self.num_bad_steps = 0
        self.eps = eps
        self.last_step = 0

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat) -> None:
        """Take notice of a measure, a number or a tensor of one."""
        current = float(metrics)
        self.last_step += 1
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_steps = 0
        else:
            self.num_bad_steps += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_steps = 0
        if self.num_bad_steps > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_steps = 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def is_better(self, value: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            limit = best * (1 + sign * self.threshold)
        else:
            limit = best + sign * self.threshold
        return sign * value > sign * limit

    def _reduce_lr(self) -> None:
        for number, (group, least) in enumerate(zip(self.optimizer.param_groups, self.min_lrs, strict=False)):
            old, new = group["lr"], max(group["lr"] * self.factor, least)
            if old - new > self.eps:
                group["lr"] = new
                if self.verbose:
                    print(f"Epoch {self.last_step:5d}: reducing learning rate of group {number} to {new:.4e}.")

    def get_last_lr(self) -> list[float]:
        """The rates after the last step, one a group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
