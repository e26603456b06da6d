"""Stopping when nothing gets better."""

from __future__ import annotations

import warnings
from typing import Any

from ...reporter import DictSummary
from ...training.util import get_trigger
from ...utils import argument


class EarlyStoppingTrigger:
    """Fires when a value has not got better for `patience` checks; to be used as a trainer's stop trigger.

    Args:
        check_trigger: when to check.
        monitor: name of the value.
        patience: number of checks without a better value, 3 by default (`patients` is the same).
        mode: "max", "min", or "auto": larger is better if the name has "accuracy" in it, else smaller.
        verbose: print what is decided.
        max_trigger: when to stop in any case.
    """

    def __init__(
        self,
        check_trigger: Any = (1, "epoch"),
        monitor: str = "main/loss",
        patience: int | None = None,
        mode: str = "auto",
        verbose: bool = False,
        max_trigger: Any = (100, "epoch"),
        **kwargs: Any,
    ) -> None:
        (patients,) = argument.parse_kwargs(kwargs, ("patients", None))
        if patience is not None and patients is not None:
            raise TypeError("Both 'patience' and 'patients' arguments are specified; 'patients' is an alias.")
        self.patience = next(value for value in (patience, patients, 3) if value is not None)
        self.count = 0
        self.monitor = monitor
        self.verbose = verbose
        self._larger_is_better = mode == "max" or (mode != "min" and "accuracy" in monitor)
        self.best = float("-inf") if self._larger_is_better else float("inf")
        self._max_trigger = get_trigger(max_trigger)
        self._interval_trigger = get_trigger(check_trigger)
        self._summary = DictSummary()
        if verbose:
            print(f"early stopping: operator is {'greater' if self._larger_is_better else 'less'}")

    def __call__(self, trainer: Any) -> bool:
        observation = trainer.observation
        if self.monitor in observation:
            self._summary.add({self.monitor: observation[self.monitor]})
        if self._max_trigger(trainer):
            return True
        if not self._interval_trigger(trainer):
            return False
        if self.monitor not in observation:
            warnings.warn(f"{self.monitor} is not in observation")
            return False
        value = self._summary.compute_mean()[self.monitor]
        self._summary = DictSummary()
        if value > self.best if self._larger_is_better else value < self.best:
            self.best = value
            self.count = 0
        else:
            self.count += 1
        if self.count < self.patience:
            return False
        if self.verbose:
            print(f"Epoch {trainer.updater.epoch}: early stopping")
        return True

    def get_training_length(self) -> Any:
        """Period and unit of `max_trigger`."""
        return self._max_trigger.get_training_length()
