"""Triggers: when something happens."""

from grus.dialects.chainer.training.triggers.early_stopping_trigger import EarlyStoppingTrigger
from grus.dialects.chainer.training.triggers.interval_trigger import IntervalTrigger
from grus.dialects.chainer.training.triggers.manual_schedule_trigger import ManualScheduleTrigger
from grus.dialects.chainer.training.triggers.minmax_value_trigger import (
    BestValueTrigger,
    MaxValueTrigger,
    MinValueTrigger,
)
from grus.dialects.chainer.training.triggers.once_trigger import OnceTrigger
from grus.dialects.chainer.training.triggers.time_trigger import TimeTrigger

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
