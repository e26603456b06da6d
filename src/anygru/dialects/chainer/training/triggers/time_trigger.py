"""Every so many seconds."""

from __future__ import annotations

from typing import Any


class TimeTrigger:
    """Fires every `period` seconds of training."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._next_time = period

    def __call__(self, trainer: Any) -> bool:
        if self._next_time >= trainer.elapsed_time:
            return False
        self._next_time += self._period
        return True

    def serialize(self, serializer: Any) -> None:
        """Save or load the time of the next firing."""
        self._next_time = serializer("next_time", self._next_time)
