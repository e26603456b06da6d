"""Running measures of a model: accuracy, precision, recall, area under the curve."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..tensor.operation import operation, wrap
from ..tensor.tensor import Tensor

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]


def _array(value: Any) -> np.ndarray:
    return value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


class Metric(abc.ABC):
    """The base of metrics: `compute` on a batch, `update` with its results, `accumulate` over all."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Begin again."""
        raise NotImplementedError(f"function 'reset' not implemented in {type(self).__name__}.")

    @abc.abstractmethod
    def update(self, *args: Any) -> Any:
        """Take a batch in."""
        raise NotImplementedError(f"function 'update' not implemented in {type(self).__name__}.")

    @abc.abstractmethod
    def accumulate(self) -> Any:
        """The measure over all batches."""
        raise NotImplementedError(f"function 'accumulate' not implemented in {type(self).__name__}.")

    @abc.abstractmethod
    def name(self) -> Any:
        """The metric's name."""
        raise NotImplementedError(f"function 'name' not implemented in {type(self).__name__}.")

    def compute(self, *args: Any) -> Any:
        """The arguments of `update`, from predictions and labels; unchanged unless overridden."""
        return args


class Accuracy(Metric):
    """The share of samples with the label among the k best classes.

    Args:
        topk: the values of k.
        name: 'acc' unless given.
    """

    def __init__(self, topk: Sequence[int] = (1,), name: str | None = None, *args: Any, **kwargs: Any) -> None:
        self.topk = (topk,) if isinstance(topk, int) else tuple(topk)
        self.maxk = max(self.topk)
        stem = name or "acc"
        self._name = [stem] if self.maxk == 1 else [f"{stem}_top{k}" for k in self.topk]
        self.reset()

    def compute(self, pred: torch.Tensor, label: torch.Tensor, *args: Any) -> Tensor:
        """Ones where the k-th best class is the label, [..., maxk].

        Args:
            pred: scores, the classes last.
            label: class numbers [N] or [..., 1], or ones and zeros in the shape of `pred`.
        """
        best = torch.argsort(pred, dim=-1, descending=True, stable=True)[..., : self.maxk]
        if label.ndim == 1 or (label.ndim == 2 and int(label.shape[-1]) == 1):
            label = torch.reshape(label, [-1, 1])
        elif int(label.shape[-1]) != 1:
            label = torch.argmax(label, dim=-1, keepdim=True)
        return wrap(torch.eq(best, torch.Tensor.to(label, torch.int64)).to(torch.float32))

    def update(self, correct: Any, *args: Any) -> Any:
        """Add a result of `compute`; return the accuracy of this batch."""
        correct = _array(correct)
        samples = int(np.prod(correct.shape[:-1]))
        accuracies = []
        for place, k in enumerate(self.topk):
            right = correct[..., :k].sum()
            accuracies.append(np.float64(right) / samples)
            self.total[place] += right
            self.count[place] += samples
        return accuracies[0] if len(self.topk) == 1 else accuracies

    def reset(self) -> None:
        self.total = [0.0] * len(self.topk)
        self.count = [0] * len(self.topk)

    def accumulate(self) -> Any:
        """The accuracy over all batches, a list for several k."""
        shares = [
            np.float64(total) / count if count > 0 else 0.0 for total, count in zip(self.total, self.count, strict=True)
        ]
        return shares[0] if len(self.topk) == 1 else shares

    def name(self) -> list[str]:
        """The names, one for each k."""
        return self._name


def _truth(labels: Any) -> np.ndarray:
    return _array(labels).astype("int32").ravel()


class Precision(Metric):
    """True positives divided by predicted positives, for two classes."""

    def __init__(self, name: str = "precision", *args: Any, **kwargs: Any) -> None:
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Take in probabilities and labels of 0 or 1."""
        # A probability of 0.5 counts as positive here and as negative in `Recall`, which rounds to even (recorded, 2.6.2).
        taken, truth = np.floor(_array(preds) + 0.5).astype("int32").ravel(), _truth(labels)
        self.tp += int(((taken == 1) & (truth == 1)).sum())
        self.fp += int(((taken == 1) & (truth != 1)).sum())

    def reset(self) -> None:
        self.tp = self.fp = 0

    def accumulate(self) -> float:
        """The precision over all batches."""
        found = self.tp + self.fp
        return float(self.tp) / found if found != 0 else 0.0

    def name(self) -> str:
        return self._name


class Recall(Metric):
    """Found among the positive, with two classes."""

    def __init__(self, name: str = "recall", *args: Any, **kwargs: Any) -> None:
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Take in probabilities and labels of 0 or 1."""
        taken, truth = np.rint(_array(preds)).astype("int32").ravel(), _truth(labels)
        self.tp += int(((taken == 1) & (truth == 1)).sum())
        self.fn += int(((taken != 1) & (truth == 1)).sum())

    def reset(self) -> None:
        self.tp = self.fn = 0

    def accumulate(self) -> float:
        """The recall over all batches."""
        there = self.tp + self.fn
        return float(self.tp) / there if there != 0 else 0.0

    def name(self) -> str:
        return self._name


class Auc(Metric):
    """The area under the receiver operating characteristic, by a histogram of the probabilities."""

    def __init__(
        self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc", *args: Any, **kwargs: Any
    ) -> None:
        # The curve is kept and not used: "PR" gives the area under the other one, too (recorded, 2.6.2).
        self._curve, self._num_thresholds, self._name = curve, num_thresholds, name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Take in probabilities [N, 2] of the two classes and labels of 0 or 1."""
        bins = (_array(preds)[:, 1] * self._num_thresholds).astype(int)
        truth = _array(labels).ravel().astype(bool)
        np.add.at(self._stat_pos, bins[truth], 1)
        np.add.at(self._stat_neg, bins[~truth], 1)

    def reset(self) -> None:
        self._stat_pos = np.zeros(self._num_thresholds + 1)
        self._stat_neg = np.zeros(self._num_thresholds + 1)

    def accumulate(self) -> float:
        """The area over all batches, by the trapezoid rule."""
        positive = np.concatenate([[0.0], np.cumsum(self._stat_pos[::-1])])
        negative = np.concatenate([[0.0], np.cumsum(self._stat_neg[::-1])])
        if positive[-1] == 0 or negative[-1] == 0:  # of one class alone 0.0 (recorded, 2.6.2)
            return 0.0
        area = float((np.diff(negative) * (positive[1:] + positive[:-1])).sum()) / 2
        return np.float64(area) / float(positive[-1]) / float(negative[-1])  # in this order: the last digit is printed

    def name(self) -> str:
        return self._name


@operation
def accuracy(
    input: torch.Tensor,
    label: torch.Tensor,
    k: int = 1,
    correct: Any = None,
    total: Any = None,
    name: str | None = None,
) -> torch.Tensor:
    """The share of rows of `input` with the label [N, 1] among the k best classes."""
    best = torch.topk(input, k, -1)[1]
    right = torch.eq(best, torch.Tensor.to(torch.reshape(label, [-1, 1]), torch.int64)).any(dim=-1)
    return right.to(torch.float32).mean()
