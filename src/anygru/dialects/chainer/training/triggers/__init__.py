"""Triggers: when something happens."""

from ...training.triggers.early_stopping_trigger import EarlyStoppingTrigger
from ...training.triggers.interval_trigger import IntervalTrigger
from ...training.triggers.manual_schedule_trigger import ManualScheduleTrigger
from ...training.triggers.minmax_value_trigger import (
    BestValueTrigger,
    MaxValueTrigger,
    MinValueTrigger,
)
from ...training.triggers.once_trigger import OnceTrigger
from ...training.triggers.time_trigger import TimeTrigger

__all__ = [
    "BestValueTrigger",
    "EarlyStoppingTrigger",
    "IntervalTrigger",
    "ManualScheduleTrigger",
    "MaxValueTrigger",
    "MinValueTrigger",
    "OnceTrigger",
    "TimeTrigger",
]
