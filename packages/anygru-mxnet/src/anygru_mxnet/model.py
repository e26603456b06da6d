"""`mx.model`: checkpoints, and `FeedForward`, MXNet's first class for training. Follows MXNet 1.9's `mxnet.model`."""

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from . import metric
from .batches import DataBatch, DataDesc
from .callback import LogValidationMetricsCallback
from .checkpoints import BatchEndParam, load_checkpoint, load_params, save_checkpoint
from .context import Context, cpu
from .executor import Executor
from .initializer import Initializer, Uniform
from .io import DataIter, NDArrayIter
from .module.base_module import BaseModule, Callbacks, call_back
from .module.bucketing_module import BucketingModule
from .module.module import Module
from .ndarray.ndarray import NDArray
from .ndarray.utils import zeros
from .symbol.symbol import Symbol

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

_DEPRECATED = "mxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module instead."


class FeedForward:
    """A symbol with its parameters, for training and prediction on arrays or iterators.

    Args:
        symbol: the graph, or a function from a bucket's key to a graph. ctx: the context; several contexts are not covered.
        num_epoch: the last epoch of training.
        epoch_size: batches in an epoch; by default one pass over the data.
        optimizer: a name, which gets `kwargs` as arguments, or an object.
        initializer: called with the name and the array of each parameter that `arg_params` and `aux_params` lack.
        numpy_batch_size: the batch size for data in arrays.
        arg_params, aux_params: parameters and auxiliary states by name.
        allow_extra_params: drop values without a parameter in the symbol.
        begin_epoch: the first epoch of training.
    """

    def __init__(
        self,
        symbol: Symbol | Callable[[Any], Symbol],
        ctx: Context | list[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Initializer | Callable = Uniform(0.01),  # noqa: B008 (MXNet's default, without a state)
        numpy_batch_size: int = 128,
        arg_params: dict | None = None,
        aux_params: dict | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
        self.symbol = symbol if isinstance(symbol, Symbol) else None
        self.sym_gen = None if isinstance(symbol, Symbol) else symbol
        assert self.symbol is not None or callable(symbol), "symbol must be a Symbol or a function that gives one"
        self.ctx = ctx if isinstance(ctx, list) else [ctx or cpu()]
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.optimizer, self.initializer, self.kwargs = optimizer, initializer, kwargs
        self.numpy_batch_size, self.allow_extra_params = numpy_batch_size, allow_extra_params
        self.arg_params, self.aux_params = arg_params, aux_params
        self._pred_exec: Executor | None = None
        if self.symbol is not None:
            self._check_arguments(self.symbol)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pred_exec": None}

    def _check_arguments(self, symbol: Symbol) -> None:
        parts = {"argument": symbol.list_arguments(), "auxiliary param": symbol.list_auxiliary_states()}
        for what, names in parts.items():
            twice = [name for place, name in enumerate(names) if name in names[:place]]
            if twice:
                raise ValueError(f'Find duplicated {what} name "{twice[0]}", arguments are {names}')
        if self.allow_extra_params:
            self.arg_params, self.aux_params = (
                known and {name: value for name, value in known.items() if name in names}
                for known, names in zip((self.arg_params, self.aux_params), parts.values(), strict=True)
            )

    def _init_params(self, inputs: list, overwrite: bool = False) -> None:
        """Initialize the parameters for these inputs. Existing values are kept, unless `overwrite`."""
        assert self.symbol is not None
        described = [each if isinstance(each, DataDesc) else DataDesc(*each) for each in inputs]
        shapes = self.symbol.infer_shape(**{each.name: each.shape for each in described})
        types = self.symbol.infer_type(**{each.name: each.dtype for each in described})
        names = (self.symbol.list_arguments(), (), self.symbol.list_auxiliary_states())
        given = {each.name for each in described}
        made: list[dict[str, NDArray]] = []
        for place, known in ((0, self.arg_params or {}), (2, self.aux_params or {})):
            made.append({})
            for name, shape, dtype in zip(names[place], shapes[place], types[place], strict=True):
                if name in given:
                    continue
                values = made[-1][name] = zeros(shape, dtype=dtype)
                if name in known and not overwrite:
                    values[:] = known[name]
                else:
                    # A name without attributes, so that initializers in `__init__` attributes have no effect (1.9.1, source).
                    self.initializer(name, values)
        self.arg_params, self.aux_params = made

    def _batches_of(self, data: Any, labels: Any, training: bool) -> Any:
        """The iterator itself, or an iterator over arrays."""
        if not isinstance(data, (np.ndarray, NDArray)):
            if not isinstance(data, DataIter):
                raise TypeError("X must be DataIter, NDArray or numpy.ndarray")
            return data
        if labels is None:
            if training:
                raise ValueError("y must be specified when X is numpy.ndarray")
            labels = np.zeros(data.shape[0])
        if not isinstance(labels, (np.ndarray, NDArray)):
            raise TypeError("y must be ndarray when X is numpy.ndarray")
        if data.shape[0] != labels.shape[0]:
            raise ValueError("The numbers of data points and labels not equal")
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels.flatten()  # MXNet 1.9.1 does not flatten an NDArray with one column, and raises an error
        if labels.ndim != 1:
            raise ValueError("Label must be 1D or 2D (with 2nd dimension being 1)")
        last = "roll_over" if training else "pad"
        return NDArrayIter(data, labels, min(data.shape[0], self.numpy_batch_size), training, last)

    def _evaluated(self, data: Any) -> Any:
        """An iterator over data for evaluation, which may be a pair of arrays."""
        if data is None or isinstance(data, DataIter):
            return data
        if not (isinstance(data, (tuple, list)) and len(data) == 2):
            raise TypeError(
                "Eval data must be DataIter, or NDArray/numpy.ndarray/list pair (i.e. tuple/list of length 2)"
            )
        if data[0] is None:
            raise ValueError("Eval data is NONE")
        if data[1] is None and isinstance(data[0], DataIter):
            return data[0]
        values, labels = (np.array(part) if isinstance(part, list) else part for part in data)
        return self._batches_of(values, labels, training=True)  # shuffled, as in MXNet 1.9.1 (source)

    def _outputs(self, batches: Any, num_batch: int | None, reset: bool) -> Iterator[tuple[DataBatch, list[NDArray]]]:
        """Yield each batch with the predicted outputs."""
        if self.symbol is None or self.arg_params is None:
            raise AttributeError("the model has no parameters: fit or load it first")
        if reset:
            batches.reset()
        described = [each if isinstance(each, DataDesc) else DataDesc(*each) for each in batches.provide_data]
        known = {name: self.arg_params[name] for name in self.symbol.list_arguments() if name in self.arg_params}
        shapes = {name: value.shape for name, value in known.items()} | dict(described)
        types = {name: value.dtype for name, value in known.items()}
        running = self._pred_exec
        if running is None or [value.shape for value in running.arg_arrays] != self.symbol.infer_shape(**shapes)[0]:
            types |= {each.name: each.dtype for each in described}
            running = self._pred_exec = self.symbol.simple_bind(self.ctx[0], "null", types, **shapes)
            running.copy_params_from(self.arg_params, self.aux_params)
        for batch in islice(batches, num_batch):
            given = {each.name: value for each, value in zip(described, batch.data, strict=False)}
            yield batch, running.forward(False, **given)

    def predict(self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """The outputs over data as NumPy arrays, without padding. With `return_data`, also the data and the labels."""
        batches = self._batches_of(X, None, training=False)
        parts: list[list[list[np.ndarray]]] = []
        for batch, outputs in self._outputs(batches, num_batch or None, reset):
            rows = slice(0, batches.batch_size - (batch.pad or 0))
            kept = (outputs, batch.data, batch.label or []) if return_data else (outputs,)
            parts.append([[array[rows].asnumpy() for array in arrays] for arrays in kept])
        joined = [
            [np.concatenate(arrays) for arrays in zip(*several, strict=True)] for several in zip(*parts, strict=True)
        ]
        results = tuple(arrays[0] if len(arrays) == 1 else arrays for arrays in joined)
        return results if return_data else results[0]

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        reset: bool = True,
    ) -> Any:
        """The value of a metric over data. As in MXNet, a metric object is not reset first."""
        eval_metric = eval_metric if isinstance(eval_metric, metric.EvalMetric) else metric.create(eval_metric)
        batches = self._batches_of(X, None, training=False)
        for count, (batch, outputs) in enumerate(self._outputs(batches, num_batch, reset)):
            eval_metric.update(batch.label, outputs)
            call_back(batch_end_callback, BatchEndParam(0, count, eval_metric, locals()))
        return eval_metric.get()[1]

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Callbacks = LogValidationMetricsCallback(),  # noqa: B008 (MXNet's default, without a state)
        eval_batch_end_callback: Callbacks = None,
    ) -> None:
        """Train on an iterator, or on arrays and their labels, from `begin_epoch` to `num_epoch`."""
        if monitor is not None:
            raise NotImplementedError("FeedForward.fit: monitor is not covered; Executor.set_monitor_callback")
        data, evaluated = self._batches_of(X, y, training=True), self._evaluated(eval_data)
        if self.num_epoch is None:
            raise TypeError("FeedForward.fit: num_epoch is not given")
        logger = logger or logging
        module = self._module(data, kvstore, logger)
        eval_metric = eval_metric if isinstance(eval_metric, metric.EvalMetric) else metric.create(eval_metric)
        logger.info("Start training with %s", str(self.ctx))
        data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            began = time.time()
            eval_metric.reset()
            # Batches are counted from 1, and from 0 in a module (1.9.1, source).
            for count, batch in enumerate(self._epoch(data, epoch, logger), 1):
                module.forward_backward(batch)
                module.update()
                module.update_metric(eval_metric, batch.label)
                call_back(batch_end_callback, BatchEndParam(epoch, count, eval_metric, locals()))
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - began)
            self.arg_params, self.aux_params = module.get_params()
            call_back(epoch_end_callback, epoch, self.symbol, self.arg_params, self.aux_params)
            if evaluated is not None:
                module.score(evaluated, eval_metric, None, eval_batch_end_callback, eval_end_callback, epoch=epoch)
                evaluated.reset()
        self._pred_exec = None

    def _module(self, data: Any, kvstore: Any, logger: Any) -> BaseModule:
        """A module for such data, with this model's parameters."""
        names, labels = ([each[0] for each in several] for several in (data.provide_data, data.provide_label))
        module: BaseModule
        if self.sym_gen is None:
            assert self.symbol is not None
            module = Module(self.symbol, names, labels, logger=logger, context=self.ctx)
        else:
            of_key = self.sym_gen
            self.symbol = of_key(data.default_bucket_key)
            self._check_arguments(self.symbol)
            module = BucketingModule(
                lambda key: (of_key(key), names, labels), data.default_bucket_key, logger, context=self.ctx
            )
        self._init_params([*data.provide_data, *data.provide_label])
        module.bind(data.provide_data, data.provide_label)
        module.init_params(None, self.arg_params, self.aux_params)
        module.init_optimizer(kvstore, self.optimizer, self.kwargs)
        return module

    def _epoch(self, data: Any, epoch: int, logger: Any) -> Iterator[DataBatch]:
        """The batches of an epoch: one pass over the data, or `epoch_size` batches of several passes."""
        count = 0
        while True:
            for batch in data:
                count += 1
                yield batch
                if count == self.epoch_size:
                    return
            logger.info("Epoch[%d] Resetting Data Iterator", epoch)
            data.reset()
            if self.epoch_size is None:
                return

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write a checkpoint, by default as the last epoch."""
        epoch = self.num_epoch if epoch is None else epoch
        assert epoch is not None, "save: which epoch is not known"
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params or {}, self.aux_params or {}, remove_amp_cast)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Context | list[Context] | None = None, **kwargs: Any) -> "FeedForward":
        """The model of a checkpoint. Its training continues from there."""
        symbol, arguments, states = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx, arg_params=arguments, aux_params=states, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Symbol | Callable[[Any], Symbol],
        X: Any,
        y: Any = None,
        ctx: Context | list[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Initializer | Callable = Uniform(0.01),  # noqa: B008 (MXNet's default, without a state)
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Callbacks = LogValidationMetricsCallback(),  # noqa: B008 (MXNet's default, without a state)
        eval_batch_end_callback: Callbacks = None,
        **kwargs: Any,
    ) -> "FeedForward":
        """Create a model and train it."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger, work_load_list, None,
            eval_end_callback, eval_batch_end_callback,
        )  # fmt: skip
        return model
