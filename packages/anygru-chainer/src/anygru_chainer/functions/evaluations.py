"""Measures without a gradient."""

from collections.abc import Callable
from typing import Any

import torch

from ..types import VariableLike
from ..utils import type_check
from ..variable import Variable
from ._checks import Type, expect
from ._rows import Tensor, function

__all__ = [
    "accuracy", "binary_accuracy", "classification_summary", "f1_score", "precision", "r2_score", "recall",
]  # fmt: skip


def _scores_and_labels(node: object, x: Type, t: Type) -> None:
    type_check._argname((x, t), ("x", "t"))
    expect(x.dtype.kind == "f", t.dtype.kind == "i")
    t_ndim = type_check.eval(t.ndim)
    expect(x.ndim >= t.ndim, x.shape[0] == t.shape[0], x.shape[2 : t_ndim + 1] == t.shape[1:])
    for axis in range(t_ndim + 1, type_check.eval(x.ndim)):
        expect(x.shape[axis] == 1)


@function("Accuracy", _scores_and_labels)
def accuracy(y: Tensor, t: Tensor, ignore_label: int | None = None) -> Tensor:
    """The share of rows of y [B, N, ...] whose largest element is at t [B, ...], in the dtype of `y`.

    Args:
        ignore_label: targets of this value do not count.
    """
    right = y.argmax(1).reshape(t.shape) == t
    if ignore_label is None:
        return right.to(y.dtype).mean()
    counted = t != ignore_label
    total = int(counted.sum())  # without a row that counts the share is 0 (Chainer 7.8.1, `Accuracy`, recorded)
    return torch.tensor(int((right & counted).sum()) / total if total else 0.0, dtype=y.dtype, device=y.device)


def _signs(node: object, x: Type, t: Type) -> None:
    type_check._argname((x, t), ("x", "t"))
    expect(x.dtype.kind == "f", t.dtype.kind == "i", t.shape == x.shape)


@function("BinaryAccuracy", _signs)
def binary_accuracy(y: Tensor, t: Tensor) -> Tensor:
    """The share of elements whose sign (1, or 0 if negative) is t; targets of -1 do not count."""
    counted = t != -1
    right = (y >= 0).to(t.dtype) == t
    # Without a target that counts the share is 0 (Chainer 7.8.1, seen).
    return ((right & counted).sum() / counted.sum().clamp(min=1)).to(y.dtype)


def _score(sample_weight: Any = None, multioutput: str = "uniform_average") -> tuple[None, str]:
    if sample_weight is not None:
        raise NotImplementedError("r2_score: sample_weight must be None")
    if multioutput not in ("uniform_average", "raw_values"):
        raise ValueError(f"invalid multioutput argument: {multioutput!r}")
    return None, multioutput


def _predictions(node: object, pred: Type, true: Type) -> None:
    expect(pred.dtype.kind == "f", true.dtype.kind == "f", pred.shape == true.shape)


@function("R2_score", _predictions, prepare=_score, named=False)
def r2_score(pred: Tensor, true: Tensor, sample_weight: None = None, multioutput: str = "uniform_average") -> Tensor:
    """`1 - sum((pred - true)^2) / sum((true - mean(true))^2)` over the first axis, averaged or as "raw_values"."""
    # No gradient flows back (Chainer 7.8.1, `R2_score`, which has no `backward`; recorded).
    pred, true = pred.detach(), true.detach()
    residual = (pred - true).square().sum(0)
    total = (true - true.mean(0)).square().sum(0)
    # Targets that never vary score 0, for a right prediction as well (Chainer 7.8.1, recorded); scikit-learn gives 1.
    score = torch.where(total != 0, 1 - residual / total, 0.0).to(pred.dtype)
    return score.mean() if multioutput == "uniform_average" else score


@function("ClassificationSummary", _scores_and_labels)
def classification_summary(
    y: Tensor, t: Tensor, label_num: int | None = None, beta: float = 1.0, ignore_label: int = -1
) -> tuple[Tensor, ...]:
    """Precision, recall, F score (float64) and support (int64), [N] each, of rows of y [B, N, ...] against t [B, ...].

    Args:
        label_num: N; one more than the largest target by default.
        beta: weight of the precision in the F score.
        ignore_label: targets of this value do not count.
    """
    n = int(t.max()) + 1 if label_num is None else label_num
    counted = t.flatten() != ignore_label
    predicted = torch.where(counted, y.argmax(1).flatten(), n)
    true = torch.where(counted, t.flatten().long(), n)
    hits, relevant, support = (
        torch.bincount(labels, minlength=n + 1)[:n]
        for labels in (torch.where(predicted == true, true, n), predicted, true)
    )
    # A class without rows is 0 / 0, NaN, and the numbers are float64 whatever y is (Chainer 7.8.1, recorded).
    precision, recall = hits.double() / relevant, hits.double() / support
    score = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    return precision, recall, score, support


def _of_summary(place: int, what: str) -> Callable[..., tuple[Variable, Variable]]:
    def call(
        y: VariableLike, t: VariableLike, label_num: int | None = None, ignore_label: int = -1
    ) -> tuple[Variable, Variable]:
        found = classification_summary(y, t, label_num, 1.0, ignore_label)
        return found[place], found[3]

    call.__name__ = call.__qualname__ = what
    call.__doc__ = f"The {what.replace('_', ' ')} and the support of each class; see `classification_summary`."
    return call


precision, recall, f1_score = (_of_summary(i, name) for i, name in enumerate(("precision", "recall", "f1_score")))
