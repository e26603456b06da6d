"""Ratios of sums."""

from __future__ import annotations

from typing import Any

from ... import reporter
from ...training.extension import PRIORITY_EDITOR, Extension
from ...training.util import get_trigger
from ...variable import as_array


class MicroAverage(Extension):
    """Reports the ratio of the sums of two observed values, whenever its trigger fires."""

    priority = PRIORITY_EDITOR

    def __init__(self, numerator_key: str, denominator_key: str, result_key: str, trigger: Any = (1, "epoch")) -> None:
        self._numerator_key = numerator_key
        self._denominator_key = denominator_key
        self._result_key = result_key
        self._trigger = get_trigger(trigger)
        self._numerator: Any = 0
        self._denominator: Any = 0

    def __call__(self, trainer: Any) -> None:
        observation = trainer.observation
        if self._numerator_key not in observation or self._denominator_key not in observation:
            return
        self._numerator += as_array(observation[self._numerator_key])
        self._denominator += as_array(observation[self._denominator_key])
        if self._trigger(trainer):
            result = float(self._numerator) / self._denominator
            self._numerator = self._denominator = 0
            reporter.report({self._result_key: result})

    def serialize(self, serializer: Any) -> None:
        self._numerator = serializer("_numerator", self._numerator)
        self._denominator = serializer("_denominator", self._denominator)
