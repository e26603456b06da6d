"""Metrics that wrap functions or other metrics, and `create`."""

import json
from collections.abc import Callable
from typing import Any

from anygru.extend import near

from .base import REGISTRY, Arrays, EvalMetric, GlobalMetric, Labels, alias, check_label_shapes, pairs, register

__all__ = ["CompositeEvalMetric", "CustomMetric", "create", "np"]


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
    if metric.startswith(("[", "{")):
        described = json.loads(metric)
        if isinstance(described, dict):
            return _from_config(described)
        metric, kwargs = described
    assert metric.lower() in REGISTRY, (
        f"{metric} is not registered. Please register with metric.register first{near(metric, REGISTRY)}"
    )
    return REGISTRY[metric.lower()](*args, **kwargs)


def _from_config(config: dict[str, Any]) -> EvalMetric:
    """A metric from its `get_config`."""
    options = dict(config)
    if "metrics" in options:
        options["metrics"] = [_from_config(one) if isinstance(one, dict) else one for one in options["metrics"]]
    return create(options.pop("metric"), **options)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics at once."""

    def __init__(
        self, metrics: Any = None, name: str = "composite", output_names: Labels = None, label_names: Labels = None
    ) -> None:
        self.metrics = [create(metric) for metric in metrics or []]
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """Add a metric."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at an index.

        Raises:
            ValueError: for an index out of range.
        """
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}") from None

    def update_dict(self, labels: dict, preds: dict) -> None:
        if self.label_names is not None:
            labels = {name: value for name, value in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: value for name, value in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
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
        found = [pair for result in results for pair in pairs(*result)]
        return [name for name, _ in found], [value for _, value in found]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


@register
class CustomMetric(GlobalMetric):
    """A metric from a function of labels and predictions, which returns a number, or a sum and a count."""

    def __init__(
        self,
        feval: Callable,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Labels = None,
        label_names: Labels = None,
    ) -> None:
        if name is None:
            # For functions without a name, such as "<lambda>" (MXNet 1.9.1, observed).
            name = f"custom({feval.__name__})" if "<" in feval.__name__ else feval.__name__
        super().__init__(name, output_names, label_names, feval=feval, allow_extra_outputs=allow_extra_outputs)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Arrays, preds: Arrays) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels, strict=False):
            result = self._feval(label.asnumpy(), pred.asnumpy())
            self._add(*result) if isinstance(result, tuple) else self._add(result, 1)

    def get_config(self) -> dict[str, Any]:
        """Raise an error: a function cannot be written as text."""
        raise NotImplementedError("CustomMetric cannot be serialized")


def np(numpy_feval: Callable, name: str | None = None, allow_extra_outputs: bool = False) -> CustomMetric:
    """A metric from a function on NumPy arrays."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
