"""`CheckpointHandler`: files of a model and its trainer while it trains."""

import os
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ....metric import EvalMetric
from .events import Counting, comparison_of, worst_value

if TYPE_CHECKING:
    from .estimator import Estimator


class CheckpointHandler(Counting):
    """Writes `PREFIX-epochEbatchB.params` and `.states` at intervals of epochs or batches, and `PREFIX-symbol.json` once.

    Args:
        model_dir: the folder, which is created.
        model_prefix: the beginning of the files' names.
        monitor: the metric that selects the best model.
        verbose: 1 to log each file.
        save_best: keep the best model as `PREFIX-best`.
        mode: "min" or "max" if smaller or larger values of the metric are better; "auto" is "max".
        epoch_period: the number of epochs between checkpoints.
        batch_period: the number of batches between checkpoints; by default only epochs count.
        max_checkpoints: the number of checkpoints to keep.
        resume_from_checkpoint: begin with the last checkpoint in the folder.

    Raises:
        ValueError: `save_best` without a metric.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        os.makedirs(model_dir, exist_ok=True)
        self.model_dir, self.model_prefix, self.verbose = model_dir, model_prefix, verbose
        self.monitor, self.save_best = monitor, save_best
        if save_best:
            if not isinstance(monitor, EvalMetric):
                raise ValueError(
                    "To save best model only, please provide one of the metric objects from estimator.train_metrics "
                    "and estimator.val_metrics as monitor."
                )
            self.monitor_op = comparison_of("ModelCheckpoint", monitor, mode)
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.trained_epoch = self.trained_batch = -1

    def train_begin(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Read the last checkpoint with `resume_from_checkpoint`."""
        super().train_begin(estimator)
        if self.save_best:
            self.best = worst_value(self.monitor_op)
        if self.resume_from_checkpoint:
            same = estimator.max_epoch if self.epoch_period else estimator.max_batch
            assert same and bool(self.batch_period) != bool(self.epoch_period), (  # noqa: PT018 (one message for both)
                "To use resume from checkpoint, you must only specify the same type of period you used for training."
                "For example, if you are training based on number of epochs,you must save only based on epochs, and set "
                "batch_period to None."
            )
            self._resume_from_checkpoint(estimator)

    def batch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Write the graph after the first batch, and the model after each `batch_period`."""
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        super().batch_end(estimator)

    def epoch_end(self, estimator: "Estimator", *args: Any, **kwargs: Any) -> None:
        """Write the model after each `epoch_period`."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        super().epoch_end(estimator)

    def _path(self, name: str) -> str:
        return os.path.join(self.model_dir, name)

    def _save_checkpoint(self, estimator: "Estimator") -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save_params_and_trainer(estimator, prefix)
        self._log(
            estimator,
            self.current_epoch,
            f"trained total {self.current_batch + 1} batches, saving model at {self.model_dir} with prefix: {prefix}",
        )
        if self.save_best:
            self._save_if_best(estimator)

    def _log(self, estimator: "Estimator", number: int, message: str) -> None:
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s", number, message)

    def _save_if_best(self, estimator: "Estimator") -> None:
        assert self.monitor is not None
        name, value = self.monitor.get()
        if np.isnan(value):
            warnings.warn(
                f"Skipping save best because {name} is not updated, make sure you pass one of the metric objects "
                "estimator.train_metrics and estimator.val_metrics as monitor",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self.monitor_op(value, self.best):
            prefix = f"{self.model_prefix}-best"
            self._save_params_and_trainer(estimator, prefix)
            self._log(
                estimator,
                self.current_epoch,
                # MXNet 1.9.1 logs the new value twice, since it has been stored already (source).
                f"{name} improved from {value:0.5f} to {value:0.5f}, updating best model at {self.model_dir} with "
                f"prefix: {prefix}",
            )
            self.best = value
        else:
            # The batch's number (1.9.1, source).
            message = f"{name} did not improve from {self.best:0.5f}, skipping updating best model"
            self._log(estimator, self.current_batch, message)

    def _save_symbol(self, estimator: "Estimator") -> None:
        path = self._path(f"{self.model_prefix}-symbol.json")
        graph = getattr(estimator.net, "_cached_graph", None)
        if graph:
            graph[1].save(path)
        else:
            estimator.logger.info(
                "Model architecture(symbol file) is not saved, please use HybridBlock to construct your model, and call "
                "net.hybridize() before passing to Estimator in order to save model architecture as %s.",
                path,
            )

    def _save_params_and_trainer(self, estimator: "Estimator", file_prefix: str) -> None:
        estimator.net.save_parameters(self._path(f"{file_prefix}.params"))
        estimator.trainer.save_states(self._path(f"{file_prefix}.states"))
        if "best" not in file_prefix:
            self.saved_checkpoints.append(file_prefix)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for ending in (".params", ".states"):
                if os.path.exists(self._path(oldest + ending)):
                    os.remove(self._path(oldest + ending))

    def _found(self) -> list[tuple[int, int]]:
        """The epochs and batches of the checkpoints in the folder, in ascending order.

        Raises:
            ValueError: for a file that is not named like a checkpoint.
        """
        begin, found = f"{self.model_prefix}-epoch", []
        for name in os.listdir(self.model_dir):
            if name.startswith(begin) and ".params" in name:
                numbers = re.fullmatch(r"(\d+)batch(\d+)\.params", name[len(begin) :])
                if numbers is None:
                    raise ValueError(
                        "Error parsing checkpoint file, please check your checkpoints have the format: "
                        "{model_name}-epoch{epoch_number}batch{batch_number}.params, there should also be a .states file "
                        "for each .params file "
                    )
                found.append((int(numbers[1]), int(numbers[2])))
        return sorted(found)

    def _resume_from_checkpoint(self, estimator: "Estimator") -> None:
        found = self._found()
        by_epochs = bool(estimator.max_epoch)
        total = estimator.max_epoch if by_epochs else estimator.max_batch
        assert total is not None
        unit = "epochs" if by_epochs else "batches"
        if not found:
            estimator.logger.info(
                "CheckpointHandler: No checkpoint found, training from scratch for %d %s", total, unit
            )
            return
        self.trained_epoch, self.trained_batch = found[-1]
        done = self.trained_epoch if by_epochs else self.trained_batch
        if done >= total - 1:
            raise ValueError(
                f"Found checkpoint with maximum number of {unit[:-1] if by_epochs else 'batch'} "
                f"{total if by_epochs else done} reached, please specify resume_from_checkpoint=False (default value) if "
                "you wan to train from scratch."
            )
        left = total - done - 1
        if by_epochs:
            estimator.max_epoch = left
        else:
            estimator.max_batch = left
        prefix = f"{self.model_prefix}-epoch{self.trained_epoch}batch{self.trained_batch}"
        for ending in (".params", ".states"):
            path = self._path(prefix + ending)
            assert os.path.exists(path), f"Failed to load checkpoint, {path} does not exist"
        estimator.net.load_parameters(self._path(f"{prefix}.params"), ctx=estimator.context)
        estimator.trainer.load_states(self._path(f"{prefix}.states"))
        estimator.logger.warning(
            "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for %d %s ",
            self.trained_epoch,
            self.trained_batch,
            left,
            unit,
        )
