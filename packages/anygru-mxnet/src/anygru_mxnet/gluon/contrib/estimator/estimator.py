"""`Estimator`: a training loop around a network, a loss and a trainer."""

import copy
import logging
import sys
import warnings
from collections.abc import Iterable
from typing import Any

from ....context import Context, cpu, gpu, num_gpus
from ....initializer import Initializer, Uniform
from ....metric import EvalMetric
from ....metric import Loss as metric_loss
from ...blocks.base import Block
from ...data.dataloader import DataLoader
from ...loss import Loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import GradientUpdateHandler, LoggingHandler, MetricHandler, StoppingHandler, ValidationHandler
from .events import EVENTS, EventHandler, check_event_handlers
from .utils import _check_handler_metric_ref, _check_metrics, _suggest_metric_for_loss

__all__ = ["Estimator"]


class Estimator:
    """Trains and evaluates a network, and calls handlers at each event.

    Args:
        net: the network; parameters without values are initialized.
        loss: a Gluon loss.
        train_metrics: metrics of training; by default chosen for the loss.
        val_metrics: metrics of validation; copies of `train_metrics` by default.
        initializer: for the parameters.
        trainer: SGD with a learning rate of 0.001 by default, with a warning.
        context: the context or contexts; the first GPU by default, or the CPU without one.
        val_net: the network to evaluate; `net` by default.
        val_loss: the loss of validation; `loss` by default.
        batch_processor: computes a batch.

    Raises:
        ValueError: for arguments of other classes.
    """

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Initializer | None = None,
        trainer: Trainer | None = None,
        context: Any = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: Any = None,
    ) -> None:
        self.net = net
        self.loss = self._check_loss(loss)
        self._train_metrics = _check_metrics(train_metrics)
        self._val_metrics = _check_metrics(val_metrics)
        self._name_metrics()
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.val_net = net if val_net is None else val_net
        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = self._check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = self._check_batch_processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    def _check_loss(self, loss: Loss) -> Loss:
        if not isinstance(loss, Loss):
            raise ValueError(f"loss must be a Loss, refer to gluon.loss.Loss:{loss}")
        return loss

    def _check_context(self, context: Any) -> list[Context]:
        gpus = num_gpus()
        if not context:
            if gpus > 1:
                warnings.warn(
                    "You have multiple GPUs, gpu(0) will be used by default.To utilize all your GPUs, specify context as "
                    "a list of gpus, e.g. context=[mx.gpu(0), mx.gpu(1)] ",
                    stacklevel=3,
                )
            return [gpu(0) if gpus else cpu()]
        contexts = [context] if isinstance(context, Context) else context
        if not (isinstance(contexts, list) and all(isinstance(each, Context) for each in contexts)):
            raise ValueError(
                "context must be a Context or a list of Context, for example mx.cpu() or [mx.gpu(0), mx.gpu(1)], refer "
                f"to mxnet.Context:{context}"
            )
        available = [gpu(number) for number in range(gpus)]
        for each in contexts:
            assert each in available or str(each).startswith("cpu"), (
                f"{each} is not available, please make sure your context is in one of: mx.cpu(), "
                f"{', '.join(map(str, available))}"
            )
        return contexts

    def _check_batch_processor(self, batch_processor: Any) -> Any:
        if batch_processor is None:
            return BatchProcessor()
        if not all(callable(getattr(batch_processor, name, None)) for name in ("fit_batch", "evaluate_batch")):
            raise ValueError("Customized Batch Processor must contain fit_batch() and evaluate_batch() methods")
        return batch_processor

    def _initialize(self, initializer: Initializer | None) -> None:
        if not self._is_initialized():
            self.net.initialize(initializer or Uniform(), ctx=self.context)
        elif initializer:
            warnings.warn(
                "Network already fully initialized, skipping initialization. You don't need to pass initializer if you "
                "already initialized your net. You can use net.initialize(init=your_initializer, force_reinit=True)to "
                "force re-initialize.",
                stacklevel=3,
            )

    def _is_initialized(self) -> bool:
        try:
            for parameter in self.net.collect_params().values():
                parameter.list_ctx()
        except RuntimeError:
            return False
        return True

    def _check_trainer(self, trainer: Trainer | None) -> Trainer:
        if not trainer:
            warnings.warn("No trainer specified, default SGD optimizer with learning rate 0.001 is used.", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"Trainer must be a Gluon Trainer instance, refer to gluon.Trainer:{trainer}")
        return trainer

    def _name_metrics(self) -> None:
        """Choose the missing metrics, and put "training" or "validation" before the names, which handlers read."""
        if not self._train_metrics:
            suggested = _suggest_metric_for_loss(self.loss)
            self._train_metrics = [suggested] if suggested else []
            # The block's name without its number (MXNet 1.9.1, source).
            self._train_metrics.append(metric_loss(self.loss.name.rstrip("1234567890")))
        for metric in self._train_metrics:
            metric.name = "training " + metric.name
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            known = "training" in metric.name
            metric.name = metric.name.replace("training", "validation") if known else "validation " + metric.name

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of validation."""
        return self._val_metrics

    def _get_data_and_label(self, batch: Any, ctx: list[Context], batch_axis: int = 0) -> tuple[list, list]:
        return BatchProcessor()._get_data_and_label(batch, ctx, batch_axis)

    def evaluate(self, val_data: DataLoader, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Update the metrics of validation from data.

        Raises:
            ValueError: for data that are not a DataLoader.
        """
        self._check_data(val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)
        _call(epoch_begin, "epoch_begin", self)
        for batch in val_data:
            _call(batch_begin, "batch_begin", self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            _call(batch_end, "batch_end", self, batch=batch, pred=pred, label=label, loss=loss)
        _call(epoch_end, "epoch_end", self)

    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train for a number of epochs, or of batches.

        Args:
            train_data: pairs of data and labels.
            val_data: the same for validation after each epoch.
            epochs: how many epochs; or
            batches: how many batches.
            event_handlers: further handlers; default handlers for updates, metrics, validation and messages are added if missing.
            batch_axis: the axis along which several contexts share a batch.

        Raises:
            ValueError: for data without a DataLoader, for both or neither of epochs and batches, and for
                handlers of other metrics than the estimator's.
        """
        self._check_data(train_data)
        if (not epochs) == (not batches):
            raise ValueError(
                "Fit only support exactly one type of iteration, train by number of epochs or number of batches.Please "
                "specify one and only one of: epochs or batches."
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = self._categorize_handlers(handlers)
        _call(train_begin, "train_begin", self)
        while True:
            _call(epoch_begin, "epoch_begin", self)
            for batch in train_data:
                _call(batch_begin, "batch_begin", self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                if _call(batch_end, "batch_end", self, batch=batch, pred=pred, label=label, loss=loss):
                    break
            if _call(epoch_end, "epoch_end", self):
                break
        _call(train_end, "train_end", self)

    def _categorize_handlers(self, event_handlers: list[EventHandler]) -> tuple[list[EventHandler], ...]:
        """The handlers of each event, in the order of `EVENTS`."""
        return tuple([handler for handler in event_handlers if isinstance(handler, kind)] for kind in EVENTS)

    def _check_data(self, data: Any) -> None:
        if not isinstance(data, DataLoader):
            raise ValueError(
                "Estimator only support input as Gluon DataLoader. Alternatively, you can transform your DataIter or any "
                "NDArray into Gluon DataLoader. Refer to gluon.data.DataLoader"
            )

    def _prepare_default_handlers(self, val_data: DataLoader | None, event_handlers: Any) -> list[EventHandler]:
        given = check_event_handlers(event_handlers)
        added: list[EventHandler] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not _has_handler(given, GradientUpdateHandler):
            added.append(GradientUpdateHandler())
        if not _has_handler(given, MetricHandler):
            added.append(MetricHandler(metrics=self.train_metrics))
        if val_data and not _has_handler(given, ValidationHandler):
            added.append(ValidationHandler(val_data=val_data, eval_fn=self.evaluate))
        if not _has_handler(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.train_metrics))
        return self._sorted_handlers(given, added, {*self.train_metrics, *self.val_metrics})

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[EventHandler]:
        given = check_event_handlers(event_handlers)
        added: list[EventHandler] = []
        if not _has_handler(given, MetricHandler):
            added.append(MetricHandler(metrics=self.val_metrics))
        if not _has_handler(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.val_metrics))
        return self._sorted_handlers(given, added, set(self.val_metrics))

    def _sorted_handlers(
        self, given: list[EventHandler], added: list[EventHandler], metrics: set[EvalMetric]
    ) -> list[EventHandler]:
        """All handlers by their priority; added handlers also go into the given list, as in MXNet 1.9.1."""
        mixed = bool(given and added)
        given.extend(added)
        if mixed:
            for handler in given:
                _check_handler_metric_ref(handler, metrics)
        given.sort(key=lambda handler: getattr(handler, "priority", 0))
        return given


def _has_handler(handlers: Iterable[EventHandler], kind: type[EventHandler]) -> bool:
    return any(isinstance(handler, kind) for handler in handlers)


def _call(handlers: list[EventHandler], event: str, estimator: Estimator, **parts: Any) -> bool:
    """Call the handlers of an event. Returns whether a handler stops the training."""
    wishes = [getattr(handler, event)(estimator, **parts) for handler in handlers]  # all are called
    return any(wishes)
