"""At given points."""

from __future__ import annotations

import warnings
from typing import Any

from ...training.triggers.interval_trigger import check_unit, load_progress


class ManualScheduleTrigger:
    """Fires at each of the given points (a number or a list) in epochs or iterations."""

    def __init__(self, points: Any, unit: str) -> None:
        check_unit(unit)
        self.points = points if isinstance(points, list) else [points]
        self.unit = unit
        self.finished = False
        self._finished_is_unknown = False
        self._previous_iteration = 0
        self._previous_epoch_detail: Any = 0.0

    def __call__(self, trainer: Any) -> bool:
        updater = trainer.updater
        if self.unit == "epoch":
            now, before = updater.epoch_detail, self._previous_epoch_detail
            if before < 0:
                before = updater.previous_epoch_detail
        else:
            now, before = updater.iteration, self._previous_iteration
            if before < 0:
                before = now - 1
        fire = any(before < point <= now for point in self.points)
        if (fire or self._finished_is_unknown) and now >= max(self.points):
            self.finished = True
        self._finished_is_unknown = False
        self._previous_iteration = updater.iteration
        if hasattr(updater, "epoch_detail"):
            self._previous_epoch_detail = updater.epoch_detail
        return fire

    def serialize(self, serializer: Any) -> None:
        """Save or load where it was called last and whether it has finished."""
        load_progress(self, serializer)
        try:
            self.finished = serializer("finished", self.finished)
        except KeyError:
            warnings.warn(
                "The flag of finished is not saved. ManualScheduleTrigger set the flag to `False` to force "
                "initialization and reset in next `__call__`."
            )
            self.finished = False
            self._finished_is_unknown = True
