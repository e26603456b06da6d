"""When a value is better than ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...reporter import DictSummary
from ...training.util import get_trigger


class BestValueTrigger:
    """Fires when the mean of an observed value since the last check is better than all before.

    Args:
        key: name of the value.
        compare: function (best, new) that says whether the new one is better.
        trigger: when to check.
    """

    def __init__(self, key: str, compare: Callable[[float, float], bool], trigger: Any = (1, "epoch")) -> None:
        self._key = key
        self._compare = compare
        self._best_value: float | None = None
        self._interval_trigger = get_trigger(trigger)
        self._summary = DictSummary()

    def __call__(self, trainer: Any) -> bool:
        if self._key in trainer.observation:
            self._summary.add({self._key: trainer.observation[self._key]})
        if not self._interval_trigger(trainer):
            return False
        value = float(self._summary.compute_mean()[self._key])
        self._summary = DictSummary()
        if self._best_value is not None and not self._compare(self._best_value, value):
            return False
        self._best_value = value
        return True

    def serialize(self, serializer: Any) -> None:
        """Save or load the best value and the running mean."""
        self._interval_trigger.serialize(serializer["interval_trigger"])
        self._summary.serialize(serializer["summary"])
        self._best_value = serializer("best_value", self._best_value)


class MaxValueTrigger(BestValueTrigger):
    """Fires when the value is larger than ever."""

    def __init__(self, key: str, trigger: Any = (1, "epoch")) -> None:
        super().__init__(key, lambda best, new: new > best, trigger)


class MinValueTrigger(BestValueTrigger):
    """Fires when the value is smaller than ever."""

    def __init__(self, key: str, trigger: Any = (1, "epoch")) -> None:
        super().__init__(key, lambda best, new: new < best, trigger)
