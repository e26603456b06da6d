"""Metrics of predicted classes and of their probabilities."""

import math
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..operators.registry import one_axis
from .base import Arrays, EvalMetric, GlobalMetric, Labels, alias, check_label_shapes, register

__all__ = [
    "F1", "MCC", "Accuracy", "CrossEntropy", "NegativeLogLikelihood", "PCC", "Perplexity", "TopKAccuracy",
]  # fmt: skip


@register
@alias("acc")
class Accuracy(GlobalMetric):
    """The fraction of correct classes. Predictions are classes, or scores along an axis."""

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names: Labels = None, label_names: Labels = None
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            scores = pred.asnumpy()
            classes = scores if pred.shape == label.shape else scores.argmax(one_axis(self.axis, pred.ndim))
            # Labels are truncated: 1.9 is class 1 (MXNet 1.9.1, observed).
            wanted, found = label.asnumpy().astype("int32").ravel(), classes.astype("int32").ravel()
            check_label_shapes(wanted, found)
            self._add((found == wanted).sum(), len(found))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(GlobalMetric):
    """The fraction of samples with the correct class among the k highest scores."""

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Labels = None, label_names: Labels = None
    ) -> None:
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        assert top_k > 1, "Please use Accuracy if top_k is no more than 1"
        self.name += f"_{top_k}"

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            assert pred.ndim <= 2, "Predictions should be no more than 2 dims"
            wanted = label.asnumpy().astype("int32").ravel()
            scores = pred.asnumpy().astype("float32")
            order = np.argpartition(scores, -self.top_k)
            check_label_shapes(wanted, scores)
            if scores.ndim == 1:
                # MXNet 1.9.1 compares the order of the scores with the labels, and does not update the global sum (source,
                # recorded).
                self._add(0, scores.shape[0])
                self.sum_metric += float((order == wanted).sum())
                continue
            best = order[:, -self.top_k :]
            self._add((best == wanted[:, None]).sum(), scores.shape[0])


class _Counts:
    """True and false positives and negatives."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.true_positive = self.false_positive = self.false_negative = self.true_negative = 0

    def take(self, label: np.ndarray, found: np.ndarray) -> None:
        positive, wanted = found == 1, label == 1
        self.true_positive += (positive & wanted).sum()
        self.false_positive += (positive & ~wanted).sum()
        self.false_negative += (~positive & wanted).sum()
        self.true_negative += (~positive & ~wanted).sum()

    @property
    def total(self) -> Any:
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
        # Factors of zero are skipped, so that the correlation is not NaN (MXNet 1.9.1, source, recorded).
        product = math.prod(float(term) for term in terms if term)
        agreement = float(self.true_positive) * self.true_negative - float(self.false_positive) * self.false_negative
        return agreement / math.sqrt(product)


class _Binary(GlobalMetric):
    """Scores of two classes; "macro" is the mean over batches, "micro" over all samples together."""

    def __init__(self, name: str, output_names: Labels, label_names: Labels, average: str) -> None:
        self.average = average
        self._local, self._whole = _Counts(), _Counts()
        super().__init__(name, output_names, label_names)

    def _score(self, counts: _Counts) -> float:
        raise NotImplementedError

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            wanted, scores = label.asnumpy().astype("int32"), pred.asnumpy()
            check_label_shapes(wanted, scores)
            if len(np.unique(wanted)) > 2:
                raise ValueError(f"{type(self).__name__} currently only supports binary classification.")
            found = np.argmax(scores, axis=1)
            self._local.take(wanted.reshape(found.shape), found)
            self._whole.take(wanted.reshape(found.shape), found)
        if self.average == "macro":
            self._add(self._score(self._local), 1)
            self._local.clear()
            # The counts are reset, because each batch has its own score (MXNet 1.9.1, `reset_stats`, source).
            self._whole.clear()
        else:
            self.num_inst = self._local.total
            self.sum_metric = self._score(self._local) * self.num_inst
            self.global_num_inst = self._whole.total
            self.global_sum_metric = self._score(self._whole) * self.global_num_inst

    def reset(self) -> None:
        super().reset()
        self._local.clear()
        self._whole.clear()

    def reset_local(self) -> None:
        super().reset_local()
        self._local.clear()


@register
class F1(_Binary):
    """The harmonic mean of precision and recall of class 1."""

    def __init__(
        self, name: str = "f1", output_names: Labels = None, label_names: Labels = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: _Counts) -> float:
        return counts.f_score()


@register
class MCC(_Binary):
    """Matthews' correlation of two classes."""

    def __init__(
        self, name: str = "mcc", output_names: Labels = None, label_names: Labels = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: _Counts) -> float:
        return counts.matthews()

    def reset(self) -> None:
        super().reset()
        self.num_inst = self.global_num_inst = 0.0  # a float in MXNet 1.9.1 (recorded)


@register
class PCC(GlobalMetric):
    """Pearson's correlation of many classes, Matthews' of two (Gorodkin 2004)."""

    def __init__(
        self, name: str = "pcc", output_names: Labels = None, label_names: Labels = None, has_global_stats: bool = True
    ) -> None:
        self._local, self._whole = np.zeros((2, 2)), np.zeros((2, 2))
        EvalMetric.__init__(self, name, output_names, label_names, has_global_stats=has_global_stats)

    def _score(self, counts: np.ndarray) -> float:
        """The correlation from the confusion matrix."""
        found, wanted, total = counts.sum(1), counts.sum(0), counts.sum()
        product = (total**2 - (found**2).sum()) * (total**2 - (wanted**2).sum())
        if product == 0:
            return float("nan")
        return float((np.trace(counts) * total - (found * wanted).sum()) / np.sqrt(product))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            wanted, scores = label.asnumpy().astype("int32").ravel(), pred.asnumpy()
            found = scores.argmax(1) if pred.shape != label.shape else scores.astype("int32")
            size = max(int(wanted.max()), int(found.max())) + 1 - len(self._local)
            if size > 0:
                self._local, self._whole = (np.pad(counts, (0, size)) for counts in (self._local, self._whole))
            for counts in (self._local, self._whole):
                np.add.at(counts, (found.ravel(), wanted), 1)
        # A call counts as one, for any number of arrays and samples (MXNet 1.9.1, `PCC.update`, source).
        self.num_inst, self.global_num_inst = self.num_inst + 1, self.global_num_inst + 1
        self.sum_metric = self._score(self._local) * self.num_inst
        self.global_sum_metric = self._score(self._whole) * self.global_num_inst

    def reset(self) -> None:
        super().reset()
        self.num_inst = self.global_num_inst = 0.0  # a float in MXNet 1.9.1 (recorded)
        self._whole = np.zeros((2, 2))
        self._local = np.zeros((2, 2))

    def reset_local(self) -> None:
        super().reset_local()
        self._local = np.zeros((2, 2))


@register
class Perplexity(GlobalMetric):
    """The exponential of the mean negative log probability of the labels.

    Args:
        ignore_label: a label that is ignored, or None.
        axis: the axis of the classes.
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Labels = None,
        label_names: Labels = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        assert len(labels) == len(preds)
        # with `ignore_label` MXNet 1.9.1 counts in floats (recorded)
        loss, count = 0.0, 0 if self.ignore_label is None else 0.0
        for label, pred in zip(labels, preds, strict=True):
            # `axis` has no effect: the last axis is used (MXNet 1.9.1, source).
            assert label.size == pred.size / pred.shape[-1], f"shape mismatch: {label.shape} vs. {pred.shape}"
            wanted = label.as_in_context(pred.context).reshape((label.size,))
            chosen: Any = nd.pick(pred, wanted.astype("int32"), axis=self.axis)
            if self.ignore_label is not None:
                ignored: Any = (wanted == self.ignore_label).astype(chosen.dtype)
                count = count - float(ignored.sum().asscalar())
                chosen = chosen * (1 - ignored) + ignored
            # A probability of 0 counts as 1e-10 here, and as `eps` in CrossEntropy (MXNet 1.9.1, observed).
            bounded = nd.maximum(1e-10, chosen).asnumpy()
            # float32, the dtype of MXNet's arrays; the sums are nearly exact
            logs = np.log(bounded.astype("float64")).astype(bounded.dtype)
            loss -= float(logs.sum(dtype="float64").astype(bounded.dtype))
            count = count + chosen.size
        self._add(loss, count)

    def _value(self, total: Any, count: Any) -> Any:
        return math.exp(total / count)


@register
@alias("ce")
class CrossEntropy(GlobalMetric):
    """The mean negative log probability of the labels."""

    def __init__(
        self, eps: float = 1e-12, name: str = "cross-entropy", output_names: Labels = None, label_names: Labels = None
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            wanted, scores = label.asnumpy().ravel(), pred.asnumpy()
            assert wanted.shape[0] == scores.shape[0], (wanted.shape[0], scores.shape[0])
            chosen = scores[np.arange(wanted.shape[0]), wanted.astype("int64")]
            self._add((-np.log(chosen + self.eps)).sum(), wanted.shape[0])


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """The mean negative log probability of the labels."""

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", output_names: Labels = None, label_names: Labels = None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)
