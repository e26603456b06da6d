"""The base class of all metrics, and the registry of their names."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ndarray.ndarray import NDArray

__all__ = ["EvalMetric", "alias", "check_label_shapes", "register"]

Arrays = NDArray | list[NDArray]
Labels = list[str] | None

REGISTRY: dict[str, type["EvalMetric"]] = {}


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Check that the numbers (or the shapes) of labels and predictions agree. With `wrap`, arrays become lists.

    Raises:
        ValueError: if they differ.
    """
    given, predicted = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if given != predicted:
        raise ValueError(f"Shape of labels {given} does not match shape of predictions {predicted}")
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


def register(klass: type["EvalMetric"], name: str | None = None) -> type["EvalMetric"]:
    """Register a metric under a name, by default its class name, in lower case."""
    REGISTRY[(name or klass.__name__).lower()] = klass
    return klass


def alias(*names: str) -> Callable[[type["EvalMetric"]], type["EvalMetric"]]:
    """Register a metric under further names."""

    def enter(klass: type[EvalMetric]) -> type[EvalMetric]:
        REGISTRY.update({name.lower(): klass for name in names})
        return klass

    return enter


class EvalMetric:
    """A metric: a sum over samples, divided by their number. A subclass defines `update(labels, preds)`.

    Args:
        name: the name in reports.
        output_names, label_names: the keys that `update_dict` reads.
    """

    def __init__(self, name: str, output_names: Labels = None, label_names: Labels = None, **kwargs: Any) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        plain = {
            name: value.item() if isinstance(value, np.generic) else value for name, value in self.get_name_value()
        }
        return f"EvalMetric: {plain}"

    def get_config(self) -> dict[str, Any]:
        """The arguments that the metric was made with."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: dict[str, NDArray], pred: dict[str, NDArray]) -> None:
        """Update with a batch given as dicts."""
        preds = list(pred.values()) if self.output_names is None else [pred[name] for name in self.output_names]
        labels = list(label.values()) if self.label_names is None else [label[name] for name in self.label_names]
        self.update(labels, preds)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update with a batch."""
        raise NotImplementedError

    def _add(self, total: Any, count: Any) -> None:
        total = float(total)
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def reset(self) -> None:
        """Reset all counters."""
        self.num_inst: Any = 0
        self.sum_metric: Any = 0.0
        self.global_num_inst: Any = 0
        self.global_sum_metric: Any = 0.0

    def reset_local(self) -> None:
        """Reset the local counters and keep the global ones."""
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
        return pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of names and global values."""
        return pairs(*self.get_global())


def pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    names, values = (part if isinstance(part, list) else [part] for part in (name, value))
    return list(zip(names, values, strict=True))


class GlobalMetric(EvalMetric):
    """The base class of metrics with global sums."""

    def __init__(self, name: str, output_names: Labels = None, label_names: Labels = None, **kwargs: Any) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True, **kwargs)
