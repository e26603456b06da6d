"""The events of training, and functions for their handlers."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....metric import EvalMetric

if TYPE_CHECKING:
    from .estimator import Estimator


class EventHandler:
    """The base class of all handlers."""


def check_event_handlers(handlers: Any) -> list[EventHandler]:
    if isinstance(handlers, EventHandler):
        return [handlers]
    handlers = handlers or []
    if not all(isinstance(handler, EventHandler) for handler in handlers):
        raise ValueError(f"handlers must be an EventHandler or a list of EventHandler, got: {handlers}")
    return handlers


class TrainBegin(EventHandler):
    """Called before the first epoch."""

    def train_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """A subclass defines it."""


class TrainEnd(EventHandler):
    """Called after the last epoch."""

    def train_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """A subclass defines it."""


class EpochBegin(EventHandler):
    """Called before each epoch."""

    def epoch_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """A subclass defines it."""


class EpochEnd(EventHandler):
    """Called after each epoch."""

    def epoch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> bool | None:
        """Whether to stop; a subclass defines it."""
        return False


class BatchBegin(EventHandler):
    """Called before each batch."""

    def batch_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """A subclass defines it; `batch` is among the keywords."""


class BatchEnd(EventHandler):
    """Called after each batch."""

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> bool | None:
        """Whether to end the epoch; a subclass defines it; `batch`, `pred`, `label`, `loss` are among the keywords."""
        return False


EVENTS = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)


class Counting(TrainBegin, BatchEnd, EpochEnd):
    """Counts batches and epochs from the beginning of training."""

    current_batch = 0
    current_epoch = 0

    def train_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Reset the counters."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> bool | None:
        """Count a batch."""
        self.current_batch += 1
        return None

    def epoch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> bool | None:
        """Count an epoch."""
        self.current_epoch += 1
        return None


def comparison_of(handler: str, monitor: EvalMetric, mode: str) -> Callable[[Any, Any], Any]:
    """`np.less` or `np.greater`: compares a value of a metric with the best one."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(
            f"{handler} mode {mode} is unknown, fallback to auto mode. CheckpointHandler will use max mode for f1 and "
            "accuracy metric comparison and use min mode otherwise",
            RuntimeWarning,
            stacklevel=3,
        )
        mode = "auto"
    if mode == "auto":
        # Greater for every metric: MXNet 1.9.1 tests `'acc' or 'f1' in name`, which is always true (source).
        warnings.warn(
            f"`greater` operator will be used to determine if {monitor.get()[0]} has improved. Please specify "
            "`mode='min'` to use the `less` operator. Specify `mode='max' to disable this warning.`",
            stacklevel=3,
        )
    return np.less if mode == "min" else np.greater


def worst_value(comparison: Callable) -> float:
    return np.inf if comparison is np.less else -np.inf
