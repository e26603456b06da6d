"""`mx.metric`: numbers that say how well a model does, kept over many batches.  Of MXNet 1.9's `mxnet.metric`."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy

from .ndarray.ndarray import NDArray

__all__ = [
    "MAE", "MCC", "MSE", "RMSE", "Accuracy", "CompositeEvalMetric", "CrossEntropy", "CustomMetric", "EvalMetric", "F1",
    "Loss", "NegativeLogLikelihood", "PearsonCorrelation", "Perplexity", "TopKAccuracy", "alias", "check_label_shapes",
    "create", "np", "register",
]  # fmt: skip

_registry: dict[str, type["EvalMetric"]] = {}


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Compare numbers (or shapes) of labels and predictions; with `wrap`, single arrays become lists.

    Raises:
        ValueError: where they differ.
    """
    given, predicted = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if given != predicted:
        raise ValueError(f"Shape of labels {given} does not match shape of predictions {predicted}")
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


def register(klass: type["EvalMetric"]) -> type["EvalMetric"]:
    """Make a metric known by its class name in lower case."""
    _registry[klass.__name__.lower()] = klass
    return klass


def alias(*names: str) -> Callable[[type["EvalMetric"]], type["EvalMetric"]]:
    """Make a metric known by further names."""

    def enter(klass: type[EvalMetric]) -> type[EvalMetric]:
        _registry.update({name.lower(): klass for name in names})
        return klass

    return enter


def create(metric: Any, *args: Any, **kwargs: Any) -> "EvalMetric":
    """A metric from a name, a function of labels and predictions, a list of these, or a metric.

    Raises:
        AssertionError: for an unknown name.
    """
    if isinstance(metric, EvalMetric):
        return metric
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for one in metric:
            composite.add(create(one, *args, **kwargs))
        return composite
    assert isinstance(metric, str), "metric must be of string type"
    if metric.startswith("["):
        metric, kwargs = json.loads(metric)
    assert metric.lower() in _registry, f"{metric} is not registered. Please register with metric.register first"
    return _registry[metric.lower()](*args, **kwargs)


class EvalMetric:
    """A sum over samples and their number.  A subclass defines `update(labels, preds)`.

    Args:
        name: shown beside the value.
        output_names, label_names: the entries of dicts that `update_dict` uses.
    """

    def __init__(self, name: str, output_names: Any = None, label_names: Any = None, **kwargs: Any) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        plain = {
            name: value.item() if isinstance(value, numpy.generic) else value for name, value in self.get_name_value()
        }
        return f"EvalMetric: {plain}"

    def get_config(self) -> dict[str, Any]:
        """What the metric was made with."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: dict[str, NDArray], pred: dict[str, NDArray]) -> None:
        """Take a batch from dicts."""
        preds = list(pred.values()) if self.output_names is None else [pred[name] for name in self.output_names]
        labels = list(label.values()) if self.label_names is None else [label[name] for name in self.label_names]
        self.update(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        raise NotImplementedError

    def _add(self, total: Any, count: Any) -> None:
        total = float(total)
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def reset(self) -> None:
        """Begin anew."""
        self.num_inst: Any = 0
        self.sum_metric: Any = 0.0
        self.global_num_inst: Any = 0
        self.global_sum_metric: Any = 0.0

    def reset_local(self) -> None:
        """Begin anew, but for the global sums."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def _value(self, total: Any, count: Any) -> Any:
        return total / count

    def get(self) -> tuple[Any, Any]:
        """Name and value; nan before the first batch."""
        return self.name, float("nan") if self.num_inst == 0 else self._value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Name and value since the last `reset`."""
        if not self._has_global_stats:
            return self.get()
        count = self.global_num_inst
        return self.name, float("nan") if count == 0 else self._value(self.global_sum_metric, count)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of names and values."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of names and global values."""
        return _pairs(*self.get_global())


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    names, values = (part if isinstance(part, list) else [part] for part in (name, value))
    return list(zip(names, values, strict=True))


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics at once."""

    def __init__(
        self, metrics: Any = None, name: str = "composite", output_names: Any = None, label_names: Any = None
    ) -> None:
        self.metrics = [create(metric) for metric in metrics or []]
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """One more metric."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """One of the metrics.

        Raises:
            ValueError: for an index beyond them.
        """
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}") from None

    def update_dict(self, labels: dict, preds: dict) -> None:
        """Take a batch from dicts."""
        if self.label_names is not None:
            labels = {name: value for name, value in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: value for name, value in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Begin anew."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Begin anew, but for the global sums."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[Any, Any]:
        """Names and values."""
        return self._all([metric.get() for metric in self.metrics])

    def get_global(self) -> tuple[Any, Any]:
        """Names and global values."""
        return self._all([metric.get_global() for metric in self.metrics])

    @staticmethod
    def _all(results: list[tuple[Any, Any]]) -> tuple[list, list]:
        pairs = [pair for result in results for pair in _pairs(*result)]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def get_config(self) -> dict[str, Any]:
        """What the metric was made with."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


class _Global(EvalMetric):
    """Metrics that keep global sums, as almost all do."""

    def __init__(self, name: str, output_names: Any = None, label_names: Any = None, **kwargs: Any) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True, **kwargs)


@register
@alias("acc")
class Accuracy(_Global):
    """The share of right classes; predictions are classes, or scores along an axis."""

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            scores = pred.asnumpy()
            classes = scores if pred.shape == label.shape else scores.argmax(axis=self.axis)
            wanted, found = label.asnumpy().astype("int32").ravel(), classes.astype("int32").ravel()
            check_label_shapes(wanted, found)
            self._add((found == wanted).sum(), len(found))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(_Global):
    """The share of samples whose class is among the k with the highest scores."""

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        assert top_k > 1, "Please use Accuracy if top_k is no more than 1"
        self.name += f"_{top_k}"

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            assert pred.ndim <= 2, "Predictions should be no more than 2 dims"
            wanted = label.asnumpy().astype("int32").ravel()
            scores = pred.asnumpy().astype("float32")
            if scores.ndim == 1:
                found = (numpy.argsort(scores) == wanted).sum()
            else:
                best = numpy.argpartition(scores, -self.top_k)[:, -min(self.top_k, scores.shape[1]) :]
                found = (best == wanted[:, None]).sum()
            check_label_shapes(wanted, scores)
            self._add(found, scores.shape[0])


class _Counts:
    """True and false positives and negatives."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.true_positive = self.false_positive = self.false_negative = self.true_negative = 0

    def take(self, label: numpy.ndarray, found: numpy.ndarray) -> None:
        positive, wanted = found == 1, label == 1
        self.true_positive += int((positive & wanted).sum())
        self.false_positive += int((positive & ~wanted).sum())
        self.false_negative += int((~positive & wanted).sum())
        self.true_negative += int((~positive & ~wanted).sum())

    @property
    def total(self) -> int:
        return self.true_positive + self.false_positive + self.false_negative + self.true_negative

    def f_score(self) -> float:
        found, wanted = self.true_positive + self.false_positive, self.true_positive + self.false_negative
        precision = self.true_positive / found if found else 0.0
        recall = self.true_positive / wanted if wanted else 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0

    def matthews(self) -> float:
        if not self.total:
            return 0.0
        terms = (
            self.true_positive + self.false_positive,
            self.true_positive + self.false_negative,
            self.true_negative + self.false_positive,
            self.true_negative + self.false_negative,
        )
        product = math.prod(float(term) for term in terms if term)
        agreement = float(self.true_positive) * self.true_negative - float(self.false_positive) * self.false_negative
        return agreement / math.sqrt(product)


class _Binary(_Global):
    """Scores of two classes; "macro" is the mean over batches, "micro" that of all samples together."""

    def __init__(self, name: str, output_names: Any, label_names: Any, average: str) -> None:
        self.average = average
        self._local, self._whole = _Counts(), _Counts()
        super().__init__(name, output_names, label_names)

    def _score(self, counts: _Counts) -> float:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            wanted, scores = label.asnumpy().astype("int32"), pred.asnumpy()
            check_label_shapes(wanted, scores)
            if len(numpy.unique(wanted)) > 2:
                raise ValueError(f"{type(self).__name__} currently only supports binary classification.")
            found = numpy.argmax(scores, axis=1)
            self._local.take(wanted.reshape(found.shape), found)
            self._whole.take(wanted.reshape(found.shape), found)
        if self.average == "macro":
            self._add(self._score(self._local), 1)
            self._local.clear()
            self._whole.clear()
        else:
            self.num_inst = self._local.total
            self.sum_metric = self._score(self._local) * self.num_inst
            self.global_num_inst = self._whole.total
            self.global_sum_metric = self._score(self._whole) * self.global_num_inst

    def reset(self) -> None:
        """Begin anew."""
        super().reset()
        self._local.clear()
        self._whole.clear()

    def reset_local(self) -> None:
        """Begin anew, but for the global sums."""
        super().reset_local()
        self._local.clear()


@register
class F1(_Binary):
    """The harmonic mean of precision and recall of class 1."""

    def __init__(
        self, name: str = "f1", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: _Counts) -> float:
        return counts.f_score()


@register
class MCC(_Binary):
    """Matthews' correlation of two classes."""

    def __init__(
        self, name: str = "mcc", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: _Counts) -> float:
        return counts.matthews()


@register
class Perplexity(_Global):
    """exp of the mean negative log probability of the labels.

    Args:
        ignore_label: a label that does not count, or None.
        axis: the axis of the classes.
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch of probabilities."""
        assert len(labels) == len(preds)
        loss, count = 0.0, 0
        for label, pred in zip(labels, preds, strict=True):
            assert label.size == pred.size / pred.shape[-1], f"shape mismatch: {label.shape} vs. {pred.shape}"
            wanted = label.asnumpy().ravel().astype("int64")
            scores = pred.asnumpy()
            rows = scores.reshape(-1, scores.shape[-1])
            chosen = rows[numpy.arange(len(wanted)), wanted.clip(0, rows.shape[1] - 1)]
            counted = numpy.ones(len(wanted), bool) if self.ignore_label is None else wanted != self.ignore_label
            # float32 as MXNet's arrays, whose sums lose next to nothing
            logs = numpy.log(numpy.maximum(1e-10, chosen[counted]).astype("float64")).astype(scores.dtype)
            loss -= float(logs.sum(dtype="float64").astype(scores.dtype))
            count += int(counted.sum())
        self._add(loss, count)

    def _value(self, total: Any, count: Any) -> Any:
        return math.exp(total / count)


class _MeanOfBatches(_Global):
    """Metrics whose value is the mean over batches of a number of each."""

    def _number(self, difference: numpy.ndarray) -> Any:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            wanted, found = (a.reshape(-1, 1) if a.ndim == 1 else a for a in (label.asnumpy(), pred.asnumpy()))
            self._add(self._number(wanted - found), 1)


@register
class MAE(_MeanOfBatches):
    """The mean absolute error."""

    def __init__(self, name: str = "mae", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def _number(self, difference: numpy.ndarray) -> Any:
        return numpy.abs(difference).mean()


@register
class MSE(_MeanOfBatches):
    """The mean squared error."""

    def __init__(self, name: str = "mse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def _number(self, difference: numpy.ndarray) -> Any:
        return (difference**2.0).mean()


@register
class RMSE(_MeanOfBatches):
    """The root of the mean squared error of each batch."""

    def __init__(self, name: str = "rmse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def _number(self, difference: numpy.ndarray) -> Any:
        return numpy.sqrt((difference**2.0).mean())


@register
@alias("ce")
class CrossEntropy(_Global):
    """The mean negative log probability of the labels."""

    def __init__(
        self, eps: float = 1e-12, name: str = "cross-entropy", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch of probabilities."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            wanted, scores = label.asnumpy().ravel(), pred.asnumpy()
            assert wanted.shape[0] == scores.shape[0], (wanted.shape[0], scores.shape[0])
            chosen = scores[numpy.arange(wanted.shape[0]), wanted.astype("int64")]
            self._add((-numpy.log(chosen + self.eps)).sum(), wanted.shape[0])


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """The mean negative log probability of the labels."""

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("pearsonr")
class PearsonCorrelation(_Global):
    """Pearson's correlation: "macro" the mean over batches, "micro" that of all samples together."""

    def __init__(
        self, name: str = "pearsonr", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        self.average = average
        super().__init__(name, output_names, label_names)

    def reset(self) -> None:
        """Begin anew."""
        super().reset()
        self._seen: list[tuple[numpy.ndarray, numpy.ndarray]] = []

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            check_label_shapes(label, pred, False, True)
            wanted, found = (a.asnumpy().ravel().astype(numpy.float64) for a in (label, pred))
            if self.average == "macro":
                self._add(numpy.corrcoef(found, wanted)[0, 1], 1)
            else:
                self._seen.append((wanted, found))
                self._add(0.0, 1)

    def get(self) -> tuple[Any, Any]:
        """Name and value."""
        if self.average == "macro" or not self._seen:
            return super().get()
        wanted, found = (numpy.concatenate(part) for part in zip(*self._seen, strict=True))
        return self.name, numpy.corrcoef(found, wanted)[0, 1]


@register
class Loss(_Global):
    """The mean of the predictions, which are losses."""

    def __init__(self, name: str = "loss", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, _: Any, preds: Any) -> None:
        """Take a batch."""
        for pred in [preds] if isinstance(preds, NDArray) else preds:
            values = pred.asnumpy()
            self._add(values.sum(dtype="float64").astype(values.dtype), values.size)


@register
class CustomMetric(_Global):
    """A function of a label array and a prediction array: a number, or a sum and a count."""

    def __init__(
        self,
        feval: Callable,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        if name is None:
            name = f"custom({feval.__name__})" if "<" in feval.__name__ else feval.__name__
        super().__init__(name, output_names, label_names, feval=feval, allow_extra_outputs=allow_extra_outputs)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        """Take a batch."""
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels, strict=False):
            result = self._feval(label.asnumpy(), pred.asnumpy())
            self._add(*result) if isinstance(result, tuple) else self._add(result, 1)

    def get_config(self) -> dict[str, Any]:
        """Refused: a function is no text."""
        raise NotImplementedError("CustomMetric cannot be serialized")


def np(numpy_feval: Callable, name: str | None = None, allow_extra_outputs: bool = False) -> CustomMetric:
    """A metric of a function on NumPy arrays."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
