"""`mx.callback`: functions that training loops call after batches and epochs. Follows MXNet 1.9's `mxnet.callback`."""

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from .checkpoints import BatchEndParam, save_checkpoint


def module_checkpoint(mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False) -> Callable:
    """A callback that makes a module write a checkpoint every `period` epochs."""

    def write(epoch: int, *_: Any) -> None:
        if (epoch + 1) % max(1, int(period)) == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return write


def do_checkpoint(prefix: str, period: int = 1) -> Callable:
    """Write a checkpoint every `period` epochs."""

    def write(epoch: int, symbol: Any, arg_params: dict, aux_params: dict) -> None:
        if (epoch + 1) % max(1, int(period)) == 0:
            save_checkpoint(prefix, epoch + 1, symbol, arg_params, aux_params)

    return write


def log_train_metric(period: int, auto_reset: bool = False) -> Callable:
    """Log the metric every `period` batches."""

    def log(param: BatchEndParam) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return log


class Speedometer:
    """Logs the samples per second and the metric every `frequent` batches."""

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size, self.frequent, self.auto_reset = batch_size, frequent, auto_reset
        self._since: float | None = None
        self._last = 0

    def __call__(self, param: BatchEndParam) -> None:
        count = param.nbatch
        if self._last > count:
            self._since = None
        self._last = count
        if self._since is None:
            self._since = time.time()
            return
        if count % self.frequent:
            return
        # The time may be the same as at the last call.
        speed = self.frequent * self.batch_size / max(time.time() - self._since, 1e-9)
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            values = param.eval_metric.get_name_value()
            shown = "".join(f"\t{name}={value:f}" for name, value in values)
            first = count - self.frequent if self.auto_reset else 0
            logging.info("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s", param.epoch, first, count, speed, shown)
            if self.auto_reset:
                param.eval_metric.reset_local()
        self._since = time.time()


class ProgressBar:
    """Logs a progress bar of `length` characters for `total` batches."""

    def __init__(self, total: int, length: int = 80) -> None:
        self.total, self.bar_len = total, length

    def __call__(self, param: BatchEndParam) -> None:
        done = param.nbatch / float(self.total)
        filled = round(self.bar_len * done)
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), math.ceil(100.0 * done), "%")


class LogValidationMetricsCallback:
    """Logs the metric at the end of an evaluation."""

    def __call__(self, param: BatchEndParam) -> None:
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
