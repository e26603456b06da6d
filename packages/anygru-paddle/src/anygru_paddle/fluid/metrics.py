"""`paddle.fluid.metrics`: metrics that batches are added to with `update`, and that `eval` gives."""

from typing import Any

import numpy as np

from ..metric import metrics as current

__all__ = ["Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "EditDistance", "MetricBase", "Precision", "Recall"]


class MetricBase:
    """The base of metrics. Counters are public attributes (without a leading underscore)."""

    def __init__(self, name: str | None = None) -> None:
        self._name = type(self).__name__ if name is None else str(name)

    def __str__(self) -> str:
        return self._name

    def reset(self) -> None:
        """Set the counts to zero."""
        for name, value in vars(self).items():
            if not name.startswith("_"):
                setattr(self, name, type(value)(0))

    def get_config(self) -> dict[str, Any]:
        """The name and the counts."""
        return {"name": self._name, "states": {key: value for key, value in vars(self).items() if key[0] != "_"}}

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add a batch."""
        raise NotImplementedError("Should not use it directly, please extend it.")

    def eval(self) -> Any:
        """The metric of all batches."""
        raise NotImplementedError("Should not use it directly, please extend it.")


class CompositeMetric(MetricBase):
    """Several metrics of the same predictions and labels."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._metrics: list[Any] = []

    def add_metric(self, metric: Any) -> None:
        """Add a metric."""
        self._metrics.append(metric)

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch to every metric."""
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self) -> list[Any]:
        """The value of every metric."""
        return [metric.eval() for metric in self._metrics]


class Precision(current.Precision):
    """`paddle.metric.Precision`."""

    eval = current.Precision.accumulate


class Recall(current.Recall):
    """`paddle.metric.Recall`."""

    eval = current.Recall.accumulate


class Auc(current.Auc):
    """`paddle.metric.Auc`."""

    eval = current.Auc.accumulate

    def __init__(self, name: str, curve: str = "ROC", num_thresholds: int = 4095) -> None:
        super().__init__(curve, num_thresholds, name)

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch; 1.8 reads one prediction for each label."""
        super().update(preds[: len(labels)], labels)


class Accuracy(MetricBase):
    """The mean of the batches' accuracies, by their weights."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.value, self.weight = 0.0, 0.0

    def update(self, value: Any, weight: float) -> None:
        """Add the accuracy of a batch."""
        self.value += value * weight
        self.weight += weight

    def eval(self) -> Any:
        """The mean."""
        if self.weight == 0:
            raise ValueError(
                "There is no data in Accuracy Metrics. Please check layers.accuracy output has added to it."
            )
        return self.value / self.weight


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, from the counts that `fluid.layers.chunk_eval` gives."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.num_infer_chunks, self.num_label_chunks, self.num_correct_chunks = 0, 0, 0

    def update(self, num_infer_chunks: Any, num_label_chunks: Any, num_correct_chunks: Any) -> None:
        """Add the counts of a batch."""
        counts = [int(np.sum(each)) for each in (num_infer_chunks, num_label_chunks, num_correct_chunks)]
        self.num_infer_chunks += counts[0]
        self.num_label_chunks += counts[1]
        self.num_correct_chunks += counts[2]

    def eval(self) -> tuple[float, float, float]:
        """Precision, recall, F1."""
        return chunk_scores(self.num_infer_chunks, self.num_label_chunks, self.num_correct_chunks)


def chunk_scores(found: int, labelled: int, correct: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of the counts of chunks."""
    precision, recall = correct / found if found else 0.0, correct / labelled if labelled else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if correct else 0.0


class EditDistance(MetricBase):
    """The mean edit distance, and the share of sequences with a distance above 0."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.total_distance, self.seq_num, self.instance_error = 0.0, 0, 0

    def update(self, distances: np.ndarray, seq_num: int) -> None:
        """Add the distances of a batch."""
        self.total_distance += float(np.sum(distances))
        self.seq_num += seq_num
        self.instance_error += seq_num - int(np.sum(np.asarray(distances) == 0))

    def eval(self) -> tuple[float, float]:
        """The mean and the share."""
        if self.seq_num == 0:
            raise ValueError("There is no data in EditDistance Metric.")
        return self.total_distance / self.seq_num, self.instance_error / self.seq_num
