"""Callbacks, which `paddle.Model` calls while it trains, evaluates and predicts. Messages equal Paddle 2.6's (recorded)."""

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..distributed.environment import place
from ..optimizer import scheduler
from .callback import Callback, Logs
from .progressbar import ProgressBar
from .visualdl import VisualDL as VisualDL

__all__ = [
    "Callback", "EarlyStopping", "LRScheduler", "ModelCheckpoint", "ProgBarLogger", "ReduceLROnPlateau", "VisualDL",
]  # fmt: skip


class CallbackList:
    """A list of callbacks, called in order."""

    def __init__(self, callbacks: Sequence[Callback], model: Any, params: dict[str, Any]) -> None:
        self.callbacks = list(callbacks)
        for each in self.callbacks:
            each.set_model(model)
            each.set_params(params)

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def call(self, name: str, *arguments: Any) -> None:
        """Call the method `name` of each."""
        for each in self.callbacks:
            getattr(each, name)(*arguments)


def configured(
    callbacks: Callback | Sequence[Callback] | None,
    model: Any,
    params: dict[str, Any],
    log_freq: int = 2,
    save_freq: int = 1,
    save_dir: str | None = None,
) -> CallbackList:
    """The user's callbacks and the default ones: progress, checkpoints and the learning rate."""
    own = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or ())
    if params["verbose"] and not any(isinstance(each, ProgBarLogger) for each in own):
        own.insert(0, ProgBarLogger(log_freq, params["verbose"]))
    if not any(isinstance(each, ModelCheckpoint) for each in own):
        own.append(ModelCheckpoint(save_freq, save_dir))
    if not any(isinstance(each, LRScheduler) for each in own):
        own.append(LRScheduler())
    for each in own:
        if isinstance(each, EarlyStopping):
            each.save_dir = save_dir
    return CallbackList(own, model, params)


class _Progress:
    """The contents of a progress bar in one mode: the steps and samples seen, and the time spent."""

    def __init__(self, steps: int | None, metrics: Sequence[str], verbose: int) -> None:
        self.steps, self.metrics, self.verbose = steps, metrics, verbose
        self.bar = ProgressBar(steps, verbose=verbose)
        self.step = self.samples = 0
        self._clear()
        self._left = time.time()

    def _clear(self) -> None:
        self._reading = self._computing = 0.0
        self._batches = self._recent = 0

    def enter(self) -> None:
        """A batch is read."""
        self._entered = time.time()
        self._reading += self._entered - self._left

    def leave(self, samples: int) -> None:
        """A batch is computed."""
        self._left = time.time()
        self._computing += self._left - self._entered
        self.step, self.samples = self.step + 1, self.samples + samples
        self._batches, self._recent = self._batches + 1, self._recent + samples

    def show(self, logs: dict[str, Any]) -> None:
        """Print the metrics in `logs`."""
        values = [(name, logs[name]) for name in self.metrics if name in logs]
        if self.verbose == 3:
            count, samples = max(self._batches, 1), max(self._recent, 1)
            values += [
                ("avg_reader_cost", f"{self._reading / count:.5f} sec"),
                ("avg_batch_cost", f"{self._computing / count:.5f} sec"),
                ("ips", f"{samples / (self._reading + self._computing):.5f} samples/sec"),
            ]
            self._clear()
        self.bar.update(self.step, values)


class ProgBarLogger(Callback):
    """Prints losses and metrics every `log_freq` steps: `verbose` 1 redraws a bar, 2 prints lines, 3 adds times, 0 nothing."""

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        super().__init__()
        self.log_freq, self.verbose = log_freq, verbose
        self._progress: dict[str, _Progress] = {}

    def _prints(self) -> bool:
        return bool(self.verbose) and place().local_rank == 0

    def on_train_begin(self, logs: Logs = None) -> None:
        """Explain the printed numbers."""
        if self._prints():
            print(
                "The loss value printed in the log is the current step, and the metric is the average value of previous "
                "steps."
            )

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Print the number of the epoch."""
        if self.params["epochs"] and self._prints():
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self._begin("train", self.params["steps"], self.params["metrics"])

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Print the last values."""
        if self._prints() and self._progress["train"].steps is not None:
            self._progress["train"].show(logs or {})

    def on_eval_begin(self, logs: Logs = None) -> None:
        """Print that an evaluation begins."""
        self._begin("eval", (logs or {}).get("steps"), (logs or {}).get("metrics", []))
        if self._prints():
            print("Eval begin...")

    def on_eval_end(self, logs: Logs = None) -> None:
        """Print the last values and the number of samples."""
        progress = self._progress["eval"]
        if self._prints() and progress.steps is not None:
            progress.show(logs or {})
            print(f"Eval samples: {progress.samples}")

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Print that a prediction begins."""
        self._begin("predict", (logs or {}).get("steps"), (logs or {}).get("metrics", []))
        if self._prints():
            print("Predict begin...")

    def on_predict_end(self, logs: Logs = None) -> None:
        """Print the number of samples."""
        progress = self._progress["predict"]
        if self._prints():
            if progress.step % self.log_freq != 0 or self.verbose == 1:
                progress.show(logs or {})
            print(f"Predict samples: {progress.samples}")

    def _begin(self, mode: str, steps: int | None, metrics: Sequence[str]) -> None:
        self._progress[mode] = _Progress(steps, metrics, self.verbose)


def _batch_begins(mode: str) -> Callable[..., None]:
    def on_batch_begin(self: ProgBarLogger, step: int, logs: Logs = None) -> None:
        """Take the time."""
        self._progress[mode].enter()

    return on_batch_begin


def _batch_ends(mode: str) -> Callable[..., None]:
    def on_batch_end(self: ProgBarLogger, step: int, logs: Logs = None) -> None:
        """Print the values if it is time."""
        progress = self._progress[mode]
        progress.leave((logs or {}).get("batch_size", 1))
        due = progress.step % self.log_freq == 0 and (progress.steps is None or progress.step < progress.steps)
        if due and self._prints():
            progress.show(logs or {})

    return on_batch_end


for _mode in ("train", "eval", "predict"):
    setattr(ProgBarLogger, f"on_{_mode}_batch_begin", _batch_begins(_mode))
    setattr(ProgBarLogger, f"on_{_mode}_batch_end", _batch_ends(_mode))


class ModelCheckpoint(Callback):
    """Saves the model to `save_dir`/<epoch> every `save_freq` epochs, and to `save_dir`/final after the last."""

    def __init__(self, save_freq: int = 1, save_dir: str | None = None) -> None:
        super().__init__()
        self.save_freq, self.save_dir = save_freq, save_dir

    def _save(self, name: object) -> None:
        if self.model and self.save_dir and place().local_rank == 0:
            path = f"{self.save_dir}/{name}"
            print(f"save checkpoint at {os.path.abspath(path)}")
            self.model.save(path)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Save, if it is time."""
        if epoch % self.save_freq == 0:
            self._save(epoch)

    def on_train_end(self, logs: Logs = None) -> None:
        """Save the last state."""
        self._save("final")


class LRScheduler(Callback):
    """Steps the optimizer's scheduler after every batch, or after every epoch with `by_epoch` instead of `by_step`."""

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        super().__init__()
        if by_step and by_epoch:
            raise ValueError("by_step option is mutually exclusive with by_epoch")
        self.by_step, self.by_epoch = by_step, by_epoch

    def _step(self) -> None:
        rate = getattr(self.model._optimizer, "_learning_rate", None)
        if isinstance(rate, scheduler.LRScheduler):
            rate.step()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Step, if by epoch."""
        if self.by_epoch:
            self._step()

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        """Step, if by step."""
        if self.by_step:
            self._step()


class _Watching(Callback):
    """Follows a value of the evaluations, and counts evaluations without improvement."""

    def __init__(self, monitor: str, mode: str, patience: int, verbose: int, min_delta: float) -> None:
        super().__init__()
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{type(self).__name__} mode {mode} is unknown, fallback to auto mode.", stacklevel=3)
            mode = "auto"
        rises = mode == "max" or (mode == "auto" and "acc" in monitor)
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.min_delta = abs(min_delta) if rises else -abs(min_delta)
        self.monitor_op: Callable[[Any, Any], Any] = np.greater if rises else np.less
        self._reset()

    def _reset(self) -> None:
        self.wait_epoch = 0
        self.best_value = -np.inf if self.monitor_op is np.greater else np.inf

    def _current(self, logs: Logs) -> float | None:
        """The value of this evaluation, None if there is none."""
        if logs is None or self.monitor not in logs:
            warnings.warn(f"Monitor of {type(self).__name__} should be loss or metric name.", stacklevel=3)
            return None
        value = logs[self.monitor]
        return value[0] if isinstance(value, (list, tuple)) else value

    def _improves(self, current: float) -> bool:
        return bool(self.monitor_op(current - self.min_delta, self.best_value))


class EarlyStopping(_Watching):
    """Stops training when `monitor` has not improved in `patience` evaluations, and keeps the best model in `save_dir`."""

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ) -> None:
        super().__init__(monitor, mode, patience, verbose, min_delta)
        self.baseline, self.save_best_model = baseline, save_best_model
        self.stopped_epoch = 0
        self.save_dir: str | None = None  # set by the loop

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begin again."""
        self._reset()
        if self.baseline is not None:
            self.best_value = self.baseline

    def on_eval_end(self, logs: Logs = None) -> None:
        """Compare with the best value."""
        current = self._current(logs)
        if current is None:
            return
        path = None if self.save_dir is None else os.path.join(self.save_dir, "best_model")
        if self._improves(current):
            self.best_value, self.wait_epoch = current, 0
            if self.save_best_model and path is not None:
                self.model.save(path)
        else:
            self.wait_epoch += 1
        # With the default patience of 0 this holds after the first evaluation, better or not, as in 2.6.2 (recorded).
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose > 0:
                print(f"Epoch {self.stopped_epoch + 1}: Early stopping.")
                if self.save_best_model and path is not None:
                    print(f"Best checkpoint has been saved at {os.path.abspath(path)}")
        self.stopped_epoch += 1


class ReduceLROnPlateau(_Watching):
    """Multiplies the learning rate by `factor` when `monitor` has not improved in `patience` evaluations."""

    def __init__(
        self,
        monitor: str = "loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 1,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        super().__init__(monitor, mode, patience, verbose, min_delta)
        self.factor, self.cooldown, self.min_lr = factor, cooldown, min_lr
        self.cooldown_counter = self.epoch = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begin again."""
        self._reset()
        self.cooldown_counter = 0

    def in_cooldown(self) -> bool:
        """Whether the rate was lowered so lately that it waits."""
        return self.cooldown_counter > 0

    def on_eval_end(self, logs: Logs = None) -> None:
        """Compare with the best value; lower the rate if it is time."""
        current = self._current(logs)
        if current is None:
            return
        if self.in_cooldown():
            self.cooldown_counter, self.wait_epoch = self.cooldown_counter - 1, 0
        if self._improves(current):
            self.best_value, self.wait_epoch = current, 0
        elif self.cooldown_counter <= 0:
            self.wait_epoch += 1
            if self.wait_epoch >= self.patience:
                self._lower()
        self.epoch += 1

    def _lower(self) -> None:
        old = self.model._optimizer.get_lr()
        # Rounded as in Paddle, which prints the message even for a rate that it cannot lower.
        if old > float(np.float32(self.min_lr)):
            rate = max(old * self.factor, self.min_lr)
            self.model._optimizer.set_lr(rate)
            if self.verbose > 0 and place().local_rank == 0:
                print(f"\nEpoch {self.epoch + 1}: ReduceLROnPlateau reducing learning rate to {rate}.")
            self.cooldown_counter, self.wait_epoch = self.cooldown, 0
