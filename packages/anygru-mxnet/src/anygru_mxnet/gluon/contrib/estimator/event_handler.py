"""Handlers of the events of training: updates, metrics, validation, messages, checkpoints, an early stop.

Handlers of smaller `priority` come first. The messages are MXNet 1.9.1's.
"""

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....metric import CompositeEvalMetric, EvalMetric
from ....metric import Loss as metric_loss
from .checkpoints import CheckpointHandler
from .events import (
    BatchBegin,
    BatchEnd,
    Counting,
    EpochBegin,
    EpochEnd,
    TrainBegin,
    TrainEnd,
    comparison_of,
    worst_value,
)
from .utils import _check_metrics

if TYPE_CHECKING:
    from ...data.dataloader import DataLoader
    from .estimator import Estimator

__all__ = [
    "BatchBegin", "BatchEnd", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin", "EpochEnd",
    "GradientUpdateHandler", "LoggingHandler", "MetricHandler", "StoppingHandler", "TrainBegin", "TrainEnd",
    "ValidationHandler",
]  # fmt: skip


class StoppingHandler(Counting):
    """Stops after the number of epochs or batches given to `fit`."""

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.stop_training = False

    def train_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Read the numbers of epochs and batches from the estimator."""
        super().train_begin(estimator)
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> bool:
        """Whether it was the last batch."""
        super().batch_end(estimator)
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> bool:
        """Whether it was the last epoch."""
        super().epoch_end(estimator)
        self.stop_training = self.stop_training or self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics after each batch: loss metrics with the losses, other metrics with the predictions."""

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = _check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Reset the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Update the metrics."""
        for metric in self.metrics:
            if isinstance(metric, metric_loss):
                # A mean of losses ignores the labels.
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(Counting):
    """Evaluates on other data at intervals of epochs or batches.

    Args:
        val_data: the data.
        eval_fn: `Estimator.evaluate`, or another function with its arguments.
        epoch_period: the number of epochs between evaluations.
        batch_period: the number of batches between evaluations; by default only epochs count.
        priority: handlers of smaller priority come first.
        event_handlers: the handlers of the validation.
    """

    def __init__(
        self,
        val_data: "DataLoader",
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data, self.eval_fn, self.event_handlers = val_data, eval_fn, event_handlers
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.priority = priority

    def _evaluate(self, estimator: "Estimator", count: int, period: int | None) -> None:
        if period and count % period == 0:
            axis = estimator.batch_axis
            self.eval_fn(val_data=self.val_data, batch_axis=axis, event_handlers=self.event_handlers)

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Evaluate after each period."""
        super().batch_end(estimator)
        self._evaluate(estimator, self.current_batch, self.batch_period)

    def epoch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Evaluate after each period."""
        super().epoch_end(estimator)
        self._evaluate(estimator, self.current_epoch, self.epoch_period)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs progress by the estimator's logger, for each epoch or every `log_interval` batches."""

    def __init__(self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = np.inf) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ValueError("log_interval must be either an integer or string 'epoch'")
        self.metrics = _check_metrics(metrics)
        self.priority = priority
        self.log_interval = log_interval
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    def _log(self, estimator: "Estimator", message: str) -> None:
        """A message and the values of the metrics."""
        message += "".join("{}: {:.4f}, ".format(*metric.get()) for metric in self.metrics)
        estimator.logger.info(message.rstrip(", "))

    def train_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Log the optimizer and the length of training."""
        self.train_start = time.time()
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Log the time and the metrics."""
        seconds = time.time() - self.train_start
        self._log(estimator, f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs. ")

    def batch_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Store the time."""
        self.batch_start = time.time()

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Log the metrics at each interval."""
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[0]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                place = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}] "
                self._log(estimator, f"{place}time/interval: {self.log_interval_time:.3f}s ")
                self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Log the begin of an epoch."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Log the time and the metrics."""
        seconds = time.time() - self.epoch_start
        self._log(estimator, f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, ")
        self.current_epoch += 1
        self.batch_index = 0


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops when a metric stops improving.

    Args:
        monitor: the metric.
        min_delta: the least improvement that counts.
        patience: the number of epochs without an improvement before the stop.
        mode: "min" or "max" if smaller or larger values are better; "auto" is "max".
        baseline: the first value to improve on.

    Raises:
        ValueError: for a monitor that is not a metric, or several.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        if not isinstance(monitor, EvalMetric):
            raise ValueError(
                "Please provide one of the metric objects from estimator.train_metrics and estimator.val_metrics as "
                "monitor."
            )
        if isinstance(monitor, CompositeEvalMetric):
            raise ValueError(
                "CompositeEvalMetric is not supported for EarlyStoppingHandler, please specify a simple metric instead."
            )
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self.monitor_op = comparison_of("EarlyStopping", monitor, mode)
        self.min_delta = min_delta if self.monitor_op is np.greater else -min_delta
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Reset the counter."""
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = worst_value(self.monitor_op) if self.baseline is None else self.baseline

    def epoch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> bool:
        """Whether the metric has not improved for `patience` epochs."""
        name, value = self.monitor.get()
        if np.isnan(value):
            warnings.warn(
                f"{name} is not updated, make sure you pass one of the metric objects from estimator.train_metrics and "
                "estimator.val_metrics as monitor.",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            # A patience of 0 acts like a patience of 1 (MXNet 1.9.1, source).
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Log the stop."""
        # A stop after epoch 0 is not logged (MXNet 1.9.1, source).
        if self.stopped_epoch > 0:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHanlder: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )


class GradientUpdateHandler(BatchEnd):
    """Takes a step of the trainer after each batch."""

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Take a step. The number of samples is the number of losses."""
        loss = kwargs["loss"]
        estimator.trainer.step(sum(part.shape[0] for part in (loss if isinstance(loss, list) else [loss])))
