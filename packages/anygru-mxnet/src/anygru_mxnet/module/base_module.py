"""The base class of modules: training loop, evaluation and prediction."""

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .. import metric
from ..batches import DataBatch, DataDesc
from ..checkpoints import BatchEndParam, read_params, save_params
from ..initializer import Initializer, Uniform
from ..ndarray import concatenate
from ..ndarray.ndarray import NDArray

Callbacks = Callable | list[Callable] | None


def check_names(module: Any, data: list[DataDesc], labels: list[DataDesc]) -> None:
    """Raise an error for other data than the module's, or a label that its symbol lacks; warn about other labels."""
    for what, names, shapes in (("data", module.data_names, data), ("label", module.label_names, labels)):
        if sorted(names) != sorted(each.name for each in shapes):
            message = (
                f"Data provided by {what}_shapes don't match names specified by {what}_names ({shapes} vs. {names})"
            )
            if what == "data":
                raise ValueError(message)
            warnings.warn(message, stacklevel=3)
    for each in labels:
        if each.name not in module.symbol.list_arguments():
            raise KeyError(each.name)


def of_shape(description: DataDesc, given: dict[str, NDArray]) -> DataDesc:
    """The description of an input with the shape of another value."""
    value = given.get(description.name)
    if value is None:
        return description
    return DataDesc(description.name, value.shape, description.dtype, description.layout)


def call_back(callbacks: Callbacks, *arguments: Any) -> None:
    for callback in callbacks if isinstance(callbacks, list) else [callbacks] if callbacks else []:
        callback(*arguments)


class BaseModule:
    """A subclass defines the names declared here."""

    symbol: Any
    bind: Callable[..., None]
    init_params: Callable[..., None]
    init_optimizer: Callable[..., None]
    get_params: Callable[[], tuple[dict[str, NDArray], dict[str, NDArray]]]
    forward: Callable[..., None]
    backward: Callable[..., None]
    update: Callable[[], None]
    update_metric: Callable[..., None]
    get_outputs: Callable[..., list]
    install_monitor: Callable[[Any], None]
    data_names: Any
    output_names: Any
    data_shapes: Any
    label_shapes: Any
    output_shapes: Any
    binded = False
    params_initialized = False
    optimizer_initialized = False
    for_training = False
    inputs_need_grad = False

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger

    def __getattr__(self, name: str) -> Any:
        if name == "symbol":
            return None
        if name in BaseModule.__annotations__:
            raise NotImplementedError(f"{type(self).__name__} does not define {name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_ready(self) -> None:
        assert self.binded, "call bind first"
        assert self.params_initialized, "call init_params first"

    def forward_backward(self, data_batch: DataBatch) -> None:
        """Run `forward` for training, then `backward`."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: Any = None) -> None:
        """Prepare for a batch; no effect."""

    def set_params(
        self,
        arg_params: dict,
        aux_params: dict,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set the parameters and auxiliary states."""
        self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def save_params(self, fname: str) -> None:
        """Write the parameters to a file."""
        save_params(fname, *self.get_params())

    def load_params(self, fname: str) -> None:
        """Read the parameters from a file."""
        self.set_params(*read_params(fname))

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, Any]]:
        """Evaluate a metric over data. Returns names and values."""
        self._check_ready()
        if reset:
            eval_data.reset()
        eval_metric = eval_metric if isinstance(eval_metric, metric.EvalMetric) else metric.create(eval_metric)
        eval_metric.reset()
        count = 0
        for batch in eval_data:
            if count == num_batch:
                break
            self.prepare(batch)
            self.forward(batch, is_train=False)
            self.update_metric(eval_metric, batch.label)
            call_back(batch_end_callback, BatchEndParam(epoch, count, eval_metric, locals()))
            count += 1
        call_back(score_end_callback, BatchEndParam(epoch, count, eval_metric, locals()))
        return eval_metric.get_name_value()

    def iter_predict(
        self, eval_data: Any, num_batch: int | None = None, reset: bool = True, sparse_row_id_fn: Any = None
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """Yield for each batch its outputs without padding, its number, and the batch."""
        self._check_ready()
        if reset:
            eval_data.reset()
        for count, batch in enumerate(eval_data):
            if count == num_batch:
                return
            self.prepare(batch)
            self.forward(batch, is_train=False)
            kept = [output[: output.shape[0] - (batch.pad or 0)].copy() for output in self.get_outputs()]
            yield kept, count, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """The outputs over data (an iterator, or one array), joined if `merge_batches` is true."""
        if isinstance(eval_data, NDArray):
            self.forward(DataBatch([eval_data]), is_train=False)
            return self.get_outputs()[0]
        batches = [outputs for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset)]
        if not merge_batches or not batches:
            return batches
        assert len({len(outputs) for outputs in batches}) == 1, "Cannot merge batches of different numbers of outputs"
        merged = [concatenate(list(parts)) for parts in zip(*batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Callbacks = None,
        eval_batch_end_callback: Callbacks = None,
        initializer: Initializer | None = None,
        arg_params: dict | None = None,
        aux_params: dict | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Train from `begin_epoch` to `num_epoch`. After each epoch evaluate on `eval_data`, if it is given."""
        assert num_epoch is not None, "please specify number of epochs"
        self.bind(train_data.provide_data, train_data.provide_label, True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer or Uniform(0.01), arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        eval_metric = eval_metric if isinstance(eval_metric, metric.EvalMetric) else metric.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            began = time.time()
            for name, value in self._train_epoch(train_data, epoch, eval_metric, batch_end_callback, monitor):
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - began)
            arg_now, aux_now = self.get_params()
            call_back(epoch_end_callback, epoch, self.symbol, arg_now, aux_now)
            if eval_data is not None:
                for name, value in self.score(
                    eval_data, validation_metric or eval_metric, None, eval_batch_end_callback, eval_end_callback,
                    epoch=epoch,
                ):  # fmt: skip
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _train_epoch(
        self, train_data: Any, epoch: int, eval_metric: metric.EvalMetric, callbacks: Callbacks, monitor: Any
    ) -> list[tuple[str, float]]:
        """Train on every batch. Returns the values of the metric before the last callback, which may reset it.

        Raises:
            StopIteration: without batches, as in MXNet.
        """
        eval_metric.reset()
        batches, nbatch, values = iter(train_data), 0, []
        data_batch = next(batches)
        while data_batch is not None:  # callbacks read these names
            self.prepare(data_batch)
            if monitor is not None:
                monitor.tic()
            self.forward_backward(data_batch)
            self.update()
            self.update_metric(eval_metric, data_batch.label)
            next_data_batch = next(batches, None)
            if monitor is not None:
                monitor.toc_print()
            if next_data_batch is None:
                values = eval_metric.get_global_name_value()
            call_back(callbacks, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            data_batch, nbatch = next_data_batch, nbatch + 1
        return values
