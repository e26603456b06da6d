"""Every so many epochs or iterations."""

from __future__ import annotations

import warnings
from typing import Any


def load_progress(trigger: Any, serializer: Any) -> None:
    """Save or load where the trigger was called last; a file of an early release lacks it, which gives a warning."""
    for name, attribute, unknown in (
        ("previous_iteration", "_previous_iteration", -1),
        ("previous_epoch_detail", "_previous_epoch_detail", -1.0),
    ):
        try:
            setattr(trigger, attribute, serializer(name, getattr(trigger, attribute)))
        except KeyError:
            warnings.warn(
                f"The previous value of {name.removeprefix('previous_')} is not saved. {type(trigger).__name__} guesses "
                "it. If this trigger is not called at every iteration, it may not work correctly."
            )
            setattr(trigger, attribute, unknown)


def check_unit(unit: str) -> None:
    """Raise ValueError unless the unit is "epoch" or "iteration"."""
    if unit not in ("epoch", "iteration"):
        raise ValueError(f"Trigger unit must be either 'epoch' or 'iteration'. Actual: {unit!r}")


class IntervalTrigger:
    """Fires every `period` epochs or iterations (`unit`); the period in epochs may be a fraction."""

    def __init__(self, period: float, unit: str) -> None:
        check_unit(unit)
        self.period = period
        self.unit = unit
        self.count: Any = 0
        self._previous_iteration = 0
        self._previous_epoch_detail: Any = 0.0

    def __call__(self, trainer: Any) -> bool:
        updater = trainer.updater
        if self.unit == "epoch":
            now, before = updater.epoch_detail, self._previous_epoch_detail
            if before < 0:
                before = updater.previous_epoch_detail
            self.count = now // self.period
        else:
            now, before = updater.iteration, self._previous_iteration
            if before < 0:
                before = now - 1
        self._previous_iteration = updater.iteration
        if hasattr(updater, "epoch_detail"):
            self._previous_epoch_detail = updater.epoch_detail
        return before // self.period != now // self.period

    def serialize(self, serializer: Any) -> None:
        """Save or load where it was called last."""
        load_progress(self, serializer)

    def get_training_length(self) -> tuple[float, str]:
        """Period and unit."""
        return self.period, self.unit

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.period}, '{self.unit}')"
