"""`paddle.Model`: a network with its training, evaluation and prediction loops."""

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from ..amp import mixed
from ..base.dygraph.base import no_grad
from ..distributed import parallel
from ..distributed.communication import collectives
from ..distributed.environment import place
from ..framework import io as files
from ..io.dataloader.batch_sampler import DistributedBatchSampler
from ..io.dataloader.dataset import Dataset
from ..io.reader import DataLoader
from ..jit import api as jit
from ..metric.metrics import Metric
from ..nn.layer.layers import Layer
from ..optimizer.optimizer import Optimizer
from ..static.input import InputSpec
from ..tensor import creation, manipulation, math
from ..tensor.tensor import Tensor
from .callbacks import Callback, CallbackList, EarlyStopping, configured
from .model_summary import summary

__all__ = ["Model"]

Data = Any  # a Dataset, a DataLoader, or an iterable of batches
Specs = InputSpec | Sequence[InputSpec] | dict[str, InputSpec] | None


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in _flat(value[key])]
    return [each for part in value for each in _flat(part)] if isinstance(value, (list, tuple)) else [value]


def _tensors(values: Any) -> list[Tensor]:
    return [each if isinstance(each, torch.Tensor) else creation.to_tensor(each) for each in _listed(values)]  # type: ignore[misc]


def _arrays(values: Any) -> list[np.ndarray]:
    return [each.numpy() if isinstance(each, torch.Tensor) else np.asarray(each) for each in _listed(values)]


class Model:
    """A network, and loops over data that train it, measure it and predict with it.

    Args:
        network: the layer.
        inputs: an `InputSpec` for each input; by default one for each argument of `network.forward`.
        labels: an `InputSpec` for each label.
    """

    def __init__(self, network: Layer, inputs: Specs = None, labels: Specs = None) -> None:
        self.network, self.mode, self.stop_training = network, "train", False
        names = [name for name in inspect.signature(network.forward).parameters if name != "self"]
        if isinstance(inputs, dict):
            inputs = [inputs[name] for name in names if name in inputs]
        self._inputs = _listed(inputs) if inputs is not None else [InputSpec([None], name=name) for name in names]
        self._labels = _listed(labels)
        self._inputs_missing = inputs is None
        for each in (*self._inputs, *self._labels):
            if not isinstance(each, InputSpec):
                raise TypeError(f"Model: inputs and labels must be InputSpec, got {type(each).__name__}")
        self._optimizer: Optimizer | None = None
        self._loss: Callable[..., Any] | None = None
        self._metrics: list[Metric] = []
        self._mixed = False
        self._accumulate = 1
        self._left_to_do: int | None = None
        self._whole: Layer = network
        if place().size > 1:
            parallel.init_parallel_env()
            self._whole = parallel.DataParallel(network)

    def prepare(
        self,
        optimizer: Optimizer | None = None,
        loss: Callable[..., Any] | None = None,
        metrics: Metric | Sequence[Metric] | None = None,
        amp_configs: str | dict[str, Any] | None = None,
    ) -> None:
        """Give the optimizer, the loss (called with outputs and labels) and the metrics.

        Mixed precision, by a level of `amp_configs` ("O1", "O2") or a dict of options, changes nothing on a CPU but warns, as
        `paddle.amp.auto_cast` does.

        Raises:
            TypeError: for a loss that cannot be called.
            AssertionError: for a metric that is none.
            ValueError: for options of mixed precision that are none.
        """
        if loss is not None and not callable(loss):
            raise TypeError("'loss' must be sub classes of `paddle.nn.Layer` or any callable function.")
        self._optimizer, self._loss, self._metrics = optimizer, loss, _listed(metrics)
        for metric in self._metrics:
            if not isinstance(metric, Metric):
                raise AssertionError(f"{type(metric).__name__} is not sub class of Metric")
        self._mixed = mixed.asked_for(amp_configs)

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """One step of training: the losses, and the metrics if there are any; without `update` gradients add up."""
        if self._optimizer is None or self._loss is None:
            raise AssertionError("model not ready, please call `model.prepare()` first")
        self.network.train()
        self.mode = "train"
        targets = _tensors(labels)
        with mixed.auto_cast(self._mixed):
            outputs = _listed(self._whole(*self._given(inputs)))
        losses = _listed(self._loss(*outputs, *targets))
        total = math.add_n(losses)
        total.backward()
        if update:
            self._optimizer.minimize(total)
            self.network.clear_gradients()
        return self._measured(losses, outputs, targets)

    def _given(self, inputs: Any) -> list[Tensor]:
        """The inputs as tensors; the first ones replace an `InputSpec` that the program did not give."""
        tensors = _tensors(inputs)
        if self._inputs_missing:
            pairs = zip(self._inputs, tensors, strict=False)
            self._inputs = [InputSpec(each.shape, each.dtype, spec.name) for spec, each in pairs]
            self._inputs_missing = False
        return tensors

    def _measured(self, losses: list[Tensor], outputs: list[Tensor], labels: list[Tensor]) -> Any:
        """The losses and each metric's value for this batch."""
        metrics = [metric.update(*_arrays(metric.compute(*outputs, *labels))) for metric in self._metrics]
        if self._loss is None:
            return metrics
        return (_arrays(losses), metrics) if metrics else _arrays(losses)

    @no_grad()
    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """The losses and the metrics of one batch."""
        self.network.eval()
        self.mode = "eval"
        targets = _tensors(labels)
        outputs = _listed(self.network(*self._given(inputs)))
        losses = _listed(self._loss(*outputs, *targets)) if self._loss is not None else []
        if place().size > 1:
            outputs, targets = [_gathered(each) for each in outputs], [_gathered(each) for each in targets]
        return self._measured(losses, outputs, targets)

    @no_grad()
    def predict_batch(self, inputs: Any) -> list[np.ndarray]:
        """The outputs of one batch, as arrays."""
        self.network.eval()
        self.mode = "test"
        return _arrays(self.network(*self._given(inputs)))

    def _loader(self, data: Data, batch_size: int, num_workers: int, **options: bool) -> Data:
        """Batches of a dataset, this process's share of them; other iterables yield batches."""
        if not isinstance(data, Dataset):
            return data
        sampler = DistributedBatchSampler(data, batch_size, **options)
        return DataLoader(data, batch_sampler=sampler, num_workers=num_workers)

    def fit(
        self,
        train_data: Data = None,
        eval_data: Data = None,
        batch_size: int | Sequence[int] = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Callback | Sequence[Callback] | None = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Train for `epochs`, and evaluate every `eval_freq` of them.

        Args:
            train_data, eval_data: datasets, loaders, or iterables of lists of inputs and labels.
            batch_size: samples a batch, or a pair for training and evaluation.
            log_freq, verbose: as of `ProgBarLogger`; 0 prints nothing.
            save_dir, save_freq: as of `ModelCheckpoint`.
            drop_last, shuffle, num_workers: as of `DataLoader`, for datasets.
            callbacks: called along the way.
            accumulate_grad_batches: batches that accumulate gradients for a step.
            num_iters: steps after which training ends.
        """
        if train_data is None:
            raise AssertionError("train_data must be given!")
        sizes: list[Any] = list(batch_size) if isinstance(batch_size, (tuple, list)) else [batch_size] * 2
        if len(sizes) != 2:
            raise AssertionError("batch_size length error, expected train_batch_size and eval_batch_size.")
        train = self._loader(train_data, sizes[0], num_workers, shuffle=shuffle, drop_last=drop_last)
        evaluation = None if eval_data is None else self._loader(eval_data, sizes[1], num_workers)
        steps = _steps(train)
        self._accumulate, self._left_to_do = accumulate_grad_batches, num_iters
        if num_iters is not None and steps is not None:
            if num_iters <= 0:
                raise AssertionError("num_iters must be greater than 0!")
            # One epoch more than possible, as Paddle passes to callbacks (recorded, 2.6.2); `stop_training` ends it.
            epochs, steps = num_iters // steps + 1, min(num_iters, steps)
        params = {"batch_size": None, "epochs": epochs, "steps": steps, "verbose": verbose, "metrics": self._names()}
        calls = configured(callbacks, self, params, log_freq, save_freq, save_dir)
        if evaluation is None and any(isinstance(each, EarlyStopping) for each in calls):
            warnings.warn("EarlyStopping needs validation data.", stacklevel=2)
        calls.call("on_train_begin", None)
        logs: dict[str, Any] = {}
        for epoch in range(epochs):
            calls.call("on_epoch_begin", epoch, None)
            logs, _ = self._epoch(train, calls, "train")
            calls.call("on_epoch_end", epoch, logs)
            if evaluation is not None and epoch % eval_freq == 0:
                logs = self._evaluate(evaluation, calls, _steps(evaluation))
            if self.stop_training:
                break
        calls.call("on_train_end", logs)

    def _evaluate(self, loader: Data, calls: CallbackList, steps: int | None) -> dict[str, Any]:
        calls.call("on_eval_begin", {"steps": steps, "metrics": self._names()})
        logs, _ = self._epoch(loader, calls, "eval")
        calls.call("on_eval_end", logs)
        return logs

    def evaluate(
        self,
        eval_data: Data,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Callback | Sequence[Callback] | None = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """The loss of the last batch and the metrics over all, by name."""
        loader = self._loader(eval_data, batch_size, num_workers)
        steps, self._left_to_do = _steps(loader), num_iters
        if num_iters is not None and steps is not None:
            if num_iters <= 0:
                raise AssertionError("num_iters must be greater than 0!")
            steps = self._left_to_do = min(num_iters, steps)
        params = {"batch_size": None, "epochs": None, "steps": None, "verbose": verbose, "metrics": self._names()}
        logs = self._evaluate(loader, configured(callbacks, self, params, log_freq), steps)
        return {name: logs[name] for name in self._names()}

    def predict(
        self,
        test_data: Data,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Callback | Sequence[Callback] | None = None,
    ) -> list[Any]:
        """For each output a tuple of the arrays of all batches, joined with `stack_outputs`."""
        loader = self._loader(test_data, batch_size, num_workers)
        params: dict[str, Any] = {"batch_size": None, "epochs": None, "steps": None, "verbose": verbose, "metrics": []}
        calls = configured(callbacks, self, params)
        calls.call("on_predict_begin", {"steps": _steps(loader)})
        logs, outputs = self._epoch(loader, calls, "predict")
        joined: list[Any] = list(zip(*outputs, strict=True))
        if stack_outputs:
            joined = [np.vstack(each) for each in joined]
        calls.call("on_predict_end", logs)
        return joined

    def _epoch(self, loader: Data, calls: CallbackList, mode: str) -> tuple[dict[str, Any], list[Any]]:
        """Run once over the data; return the last logs of the callbacks and the outputs of a prediction."""
        logs: dict[str, Any] = {}
        outputs: list[Any] = []
        count, last = len(self._inputs), _steps(loader)
        for step, batch in enumerate(loader):
            data = _flat(batch)
            calls.call(f"on_{mode}_batch_begin", step, logs)
            if mode == "predict":
                outputs.append(self.predict_batch(data[:count]))
            else:
                if mode == "train":
                    update = (step + 1) % self._accumulate == 0 or step + 1 == last
                    found = self.train_batch(data[:count], data[count:], update)
                else:
                    found = self.eval_batch(data[:count], data[count:])
                logs.update(zip(self._names(), self._values(found), strict=True))
            logs.update(step=step, batch_size=int(data[0].shape[0]) * place().size)
            calls.call(f"on_{mode}_batch_end", step, logs)
            if self._left_to_do is not None:
                self._left_to_do -= 1
                if self._left_to_do <= 0:
                    self.stop_training, self._left_to_do = True, None
                    break
        for metric in self._metrics:
            metric.reset()
        return logs, outputs

    def _values(self, found: Any) -> list[Any]:
        """The losses of a batch and the metrics until now, in the order of `_names`."""
        values: list[Any] = []
        if self._loss is not None:
            values.append([float(each) for each in (found[0] if self._metrics else found)])
        return values + [each for metric in self._metrics for each in _listed(metric.accumulate())]

    def _names(self) -> list[str]:
        names = ["loss"] if self._loss is not None else []
        return names + [name for metric in self._metrics for name in _listed(metric.name())]

    def save(self, path: str, training: bool = True) -> None:
        """Write the network to `path`.pdparams and the optimizer to `path`.pdopt; without `training`, as `jit.save` does.

        Raises:
            RuntimeError: without `training`, before the sizes of the inputs are known.
        """
        if not training:
            if self._inputs_missing:
                raise RuntimeError("Saving inference model needs 'inputs' or running before saving.")
            jit.save(self.network, path, input_spec=self._inputs)
            return
        if place().rank:
            return
        files.save(self.network.state_dict(), path + ".pdparams")
        state = {} if self._optimizer is None else self._optimizer.state_dict()
        if state:
            files.save(state, path + ".pdopt")

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Read the files that `save` wrote.

        Args:
            path: with or without the suffix.
            skip_mismatch: warn about parameters that are missing or have another shape, instead of raising ValueError.
            reset_optimizer: keep the optimizer's state.
        """
        stem, suffix = os.path.splitext(path)
        if suffix not in (".pdparams", ".pdopt", ".pdmodel"):
            stem = path
        if not os.path.exists(stem + ".pdparams"):
            raise AssertionError("Failed to load parameters, please check path.")
        given = files.load(stem + ".pdparams")
        for key, parameter in self.network.state_dict().items():
            value = given.get(key)
            if value is not None and list(value.shape) == list(parameter.shape):
                parameter.set_value(value)
                continue
            problem = f"{key} is not found in the providing file."
            if value is not None:
                problem = (
                    f"{key} receives a shape {list(value.shape)}, but the expected shape is {list(parameter.shape)}."
                )
            if not skip_mismatch:
                raise ValueError(problem)
            warnings.warn(f"Skip loading for {key}. {problem}", stacklevel=2)
            reset_optimizer = True
        if self._optimizer is not None and not reset_optimizer and os.path.exists(stem + ".pdopt"):
            self._optimizer.set_state_dict(files.load(stem + ".pdopt"))

    def summary(self, input_size: Any = None, dtype: str | None = None) -> dict[str, int]:
        """Print the layers; `paddle.summary` of the network, by the sizes of its `InputSpec`s unless given."""
        return summary(self.network, self._inputs if input_size is None else input_size, dtype)

    def parameters(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The network's parameters."""
        return self.network.parameters()


def _steps(loader: Iterable[Any]) -> int | None:
    """The number of batches, None if it is unknown."""
    try:
        return len(loader)  # type: ignore[arg-type]
    except (TypeError, ValueError, NotImplementedError):
        return None


def _gathered(value: Tensor) -> Tensor:
    """The rows of all processes."""
    parts: list[Tensor] = []
    collectives.all_gather(parts, value)
    return manipulation.concat(parts, 0)
