"""`paddle.callbacks.VisualDL`, which writes files of TensorBoard."""

import warnings
from numbers import Number
from typing import Any

from .callback import Callback, Logs


class VisualDL(Callback):
    """Writes the losses and metrics of `paddle.Model` with `torch.utils.tensorboard`, under Paddle's names: "train/loss" ...

    Without the package tensorboard it warns and writes nothing.

    Args:
        log_dir: the folder.
    """

    def __init__(self, log_dir: str) -> None:
        super().__init__()
        self.log_dir = log_dir
        self.epochs: int | None = None
        self.epoch = self.train_step = 0
        self._writer: Any = None
        self._is_fit = False

    def on_train_begin(self, logs: Logs = None) -> None:
        """Count the steps of training from 0."""
        self.epochs, self.train_step, self._is_fit = self.params["epochs"], 0, True

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Keep the number of the epoch."""
        self.epoch = epoch

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        """Write the values of a batch, by the number of steps."""
        self.train_step += 1
        self._write("train", self.train_step, logs)

    def on_eval_end(self, logs: Logs = None) -> None:
        """Write the values of an evaluation, by the epoch."""
        self._write("eval", self.epoch, logs)
        if not self._is_fit:
            self._close()

    def on_train_end(self, logs: Logs = None) -> None:
        """Close the file."""
        self._close()

    def _write(self, mode: str, step: int, logs: Logs) -> None:
        if self._writer is None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                warnings.warn("paddle.callbacks.VisualDL writes nothing: pip install tensorboard", stacklevel=2)
                self._writer = False
            else:
                self._writer = SummaryWriter(self.log_dir)
        if not self._writer:
            return
        for name in self.params["metrics"]:
            value = (logs or {}).get(name)
            value = value[0] if isinstance(value, (list, tuple)) else value
            if isinstance(value, Number):
                self._writer.add_scalar(f"{mode}/{name}", value, step)

    def _close(self) -> None:
        if self._writer:
            self._writer.close()
        self._writer, self._is_fit = None, False
