"""The progress of a training."""

import sys
from typing import TYPE_CHECKING, Any, TextIO

from ..extension import Extension
from . import util

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["ProgressBar"]


class ProgressBar(Extension):
    """Shows the progress of the training.

    Args:
        training_length: pair of length and unit; by default of the stop trigger.
        update_interval: iterations between two updates.
        bar_length: characters in a bar.
        out: stream to write to.
    """

    def __init__(
        self,
        training_length: tuple[float, str] | None = None,
        update_interval: int = 100,
        bar_length: int = 50,
        out: TextIO = sys.stdout,
    ) -> None:
        self._update_interval = update_interval
        self._bar = _TrainerProgressBar(training_length, bar_length, out)

    def __call__(self, trainer: "Trainer") -> None:
        if trainer.updater.iteration % self._update_interval == 0:
            self._bar.trainer = trainer
            self._bar.update()

    def finalize(self) -> None:
        self._bar.close()


class _TrainerProgressBar(util.ProgressBar):
    trainer: Any = None

    def __init__(self, training_length: tuple[float, str] | None, bar_length: int, out: TextIO) -> None:
        super().__init__(bar_length, out)
        self._training_length = training_length

    def get_lines(self) -> list[str]:
        updater = self.trainer.updater
        iteration, epoch = updater.iteration, updater.epoch_detail
        if self._training_length is None:
            self._training_length = self.trainer.stop_trigger.get_training_length()
        length, unit = self._training_length
        done = iteration if unit == "iteration" else epoch
        self._speed, epochs_per_second = self.update_speed(iteration, epoch)
        speed = self._speed if unit == "iteration" else epochs_per_second
        left = max((length - done) / speed, 0.0) if speed else float("inf")
        return [
            f"     total {self.bar(min(done / length, 1.0))}\n",
            f"this epoch {self.bar(epoch - int(epoch))}\n",
            f"{iteration:10} iter, {updater.epoch} epoch / {length} {unit}s\n",
            self.remaining(left),
        ]
