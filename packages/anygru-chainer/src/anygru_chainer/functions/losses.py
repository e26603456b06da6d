"""Losses of labels and targets, and measures without a gradient."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from ..backends._tensors import as_array, as_tensor
from ..configuration import config
from ..types import NdArray, VariableLike
from ..utils import type_check
from ..variable import Variable
from ._rows import Tensor, Type, as_runtime_error, check_reduce, expect, function, one_dtype, one_shape, real
from .arithmetic import magnitude

__all__ = [
    "absolute_error", "accuracy", "binary_accuracy", "classification_summary", "f1_score", "huber_loss",
    "mean_absolute_error", "mean_squared_error", "precision", "r2_score", "recall", "sigmoid_cross_entropy",
    "softmax_cross_entropy", "squared_difference", "squared_error",
]  # fmt: skip


_PAIR = (real, one_dtype, one_shape)


@function("AbsoluteError", *_PAIR)
def absolute_error(x0: Tensor, x1: Tensor) -> Tensor:
    """`|x0 - x1|`, elementwise."""
    return magnitude(x0 - x1)


@function("SquaredError", *_PAIR)
def squared_error(x0: Tensor, x1: Tensor) -> Tensor:
    """`(x0 - x1)^2`, elementwise."""
    return (x0 - x1).square()


def squared_difference(x1: VariableLike, x2: VariableLike) -> Variable:
    """`(x1 - x2)^2`, elementwise."""
    return squared_error(x1, x2)


@function("MeanAbsoluteError", *_PAIR)
def mean_absolute_error(x0: Tensor, x1: Tensor) -> Tensor:
    """The mean of `|x0 - x1|` over all elements."""
    return magnitude(x0 - x1).mean()


@function("MeanSquaredError", *_PAIR)
def mean_squared_error(x0: Tensor, x1: Tensor) -> Tensor:
    """The mean of `(x0 - x1)^2` over all elements."""
    return (x0 - x1).square().mean()


def _delta(delta: float, reduce: str = "sum_along_second_axis") -> tuple[float, str]:
    check_reduce(reduce, ("sum_along_second_axis", "no"))
    return delta, reduce


@function("HuberLoss", *_PAIR, prepare=_delta)
def huber_loss(x: Tensor, t: Tensor, delta: float, reduce: str = "sum_along_second_axis") -> Tensor:
    """`0.5 a^2` where `a = |x - t|` is at most `delta`, `delta (a - 0.5 delta)` above it, summed along the second axis.

    Args:
        reduce: "no" for one loss per element.
    """
    loss = torch.nn.functional.huber_loss(x, t, reduction="none", delta=delta)
    return loss if reduce == "no" else loss.sum(1)


def _normalized(normalize: bool = True, reduce: str = "mean") -> tuple[bool, str]:
    check_reduce(reduce)
    return normalize, reduce


def _int_targets(node: object, x: Type, t: Type) -> None:
    expect(x.dtype.kind == "f", t.dtype.kind == "i", x.shape == t.shape)


@function("SigmoidCrossEntropy", _int_targets, prepare=_normalized)
def sigmoid_cross_entropy(x: Tensor, t: Tensor, normalize: bool = True, reduce: str = "mean") -> Tensor:
    """Cross entropy of the sigmoid of x against int targets t (0 or 1; -1 does not count) of the same shape.

    Args:
        normalize: divide by the number of targets that count; False: by the batch size.
        reduce: "mean", or "no" for one loss per target; otherwise ValueError.
    """
    counted = t != -1
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x, t.to(x.dtype), reduction="none") * counted
    if reduce == "no":
        return loss
    # Where nothing counts the loss is 0, not 0 / 0 (Chainer 7.8.1, `sigmoid_cross_entropy.py`, read).
    return loss.sum() / (counted.sum().clamp(min=1) if normalize else max(len(x), 1))


def _check_class_weight(class_weight: Any) -> None:
    if class_weight is None:
        return
    if class_weight.ndim != 1:
        raise ValueError(f"class_weight.ndim should be 1, got {class_weight.ndim}")
    if class_weight.dtype.kind != "f":
        raise ValueError(f"The dtype of class_weight should be 'f', got {class_weight.dtype}")
    if isinstance(class_weight, Variable):
        raise ValueError("class_weight should be a numpy.ndarray or cupy.ndarray, not a chainer.Variable")


def _cross_entropy_options(
    normalize: bool, cache_score: bool, class_weight: Any, ignore_label: int, reduce: str, soft_target_loss: str,
    enable_double_backprop: bool,
) -> tuple[Any, ...]:  # fmt: skip
    _check_class_weight(class_weight)
    check_reduce(reduce)
    return normalize, cache_score, class_weight, ignore_label, reduce, soft_target_loss, enable_double_backprop


def _labels_or_shares(node: Any, x: Type, t: Type) -> None:
    # For double backprop Chainer composes the loss of other functions, which raise InvalidType (7.8.1, recorded).
    with contextlib.nullcontext() if node.enable_double_backprop else as_runtime_error():
        if type_check.eval(t.dtype.kind) == "i":
            expect(x.dtype.kind == "f", t.dtype.kind == "i", t.ndim == x.ndim - 1)
            expect(x.shape[0] == t.shape[0], x.shape[2:] == t.shape[1:])
        else:
            expect(x.dtype.kind == "f", t.dtype.kind == "f", x.shape == t.shape)


@function("SoftmaxCrossEntropy", _labels_or_shares, prepare=_cross_entropy_options)
def _cross_entropy(
    x: Tensor, t: Tensor, normalize: bool, cache_score: bool, class_weight: Any, ignore_label: int, reduce: str,
    soft_target_loss: str, enable_double_backprop: bool,
) -> Tensor:  # fmt: skip
    # Half precision would overflow in the sum over 200,000 rows, for which Chainer 7.8.1 gives 0.693 (seen).
    log_p = torch.log_softmax(x.float() if x.dtype is torch.float16 else x, 1)
    if t.is_floating_point():
        loss = _of_soft_targets(x, log_p, t.detach(), soft_target_loss)
        return (loss if reduce == "no" else loss.mean()).to(x.dtype)
    counted = torch.ones_like(t, dtype=torch.bool) if ignore_label is None else t != ignore_label
    labels = _labels(t, counted, x.shape[1], ignore_label, enable_double_backprop)
    loss = -log_p.gather(1, labels.unsqueeze(1)).squeeze(1) * counted
    if class_weight is not None:
        if len(class_weight) != x.shape[1]:
            raise ValueError(f"class_weight must be [{x.shape[1]}], one for each class, got {class_weight.shape}")
        loss = loss * as_tensor(class_weight).to(loss)[labels]
    if reduce == "no":
        return loss.to(x.dtype)
    # The mean divides by the number of labels, torch's by the sum of their weights; without labels it is 0 (7.8.1,
    # recorded).
    count = counted.sum() if normalize else torch.tensor(len(x), device=x.device)
    return (loss.sum() / count.clamp(min=1)).to(x.dtype)


def _scores(node: Any) -> NdArray | None:
    """The value that Chainer keeps: the softmax, as `loss.creator.y`; None unless `cache_score`."""
    return as_array(torch.softmax(node._leaves[0].detach(), 1)) if node.cache_score and node._leaves else None


SoftmaxCrossEntropy.y = property(_scores)  # type: ignore[name-defined]  # noqa: F821


def _of_soft_targets(x: Tensor, log_p: Tensor, t: Tensor, soft_target_loss: str) -> Tensor:
    # The gradient is softmax(x) - t, even if the targets do not sum to 1 (Chainer 7.8.1, recorded).
    rest = (1 - t.sum(1)) * x.logsumexp(1)
    loss = rest - rest.detach() - (t * log_p).sum(1)
    if soft_target_loss == "kl-divergence":
        # The 1e-7 is Chainer's (7.8.1, SoftmaxCrossEntropy, recorded).
        loss = loss + (t * torch.log(t + 1e-7)).sum(1)
    return loss


def _labels(t: Tensor, counted: Tensor, n_classes: int, ignore_label: int, clip: bool) -> Tensor:
    labels = torch.where(counted, t, 0).long()
    if clip and not config.debug:
        # With enable_double_backprop labels outside are moved to the nearest class; without it a negative label counts
        # from the last class, as in NumPy (Chainer 7.8.1, `softmax_cross_entropy.py`, recorded).
        return labels.clamp(0, n_classes - 1)
    outside = (labels >= n_classes) | (labels < (0 if config.debug else -n_classes))
    if bool(outside.any()):
        kind = ValueError if config.debug else IndexError
        raise kind(
            f"Each label `t` need to satisfy `0 <= t < x.shape[1] = {n_classes} or t == {ignore_label}`, "
            f"got {int(labels[outside][0])}"
        )
    return torch.where(labels < 0, labels + n_classes, labels)


def softmax_cross_entropy(
    x: VariableLike, t: VariableLike, normalize: bool = True, cache_score: bool = True, class_weight: Any = None,
    ignore_label: int = -1, reduce: str = "mean", enable_double_backprop: bool = False, soft_target_loss: str = "cross-entropy",
) -> Variable:  # fmt: skip
    """Cross entropy of the softmax of x [B, N, ...] against int labels t [B, ...] or soft targets t [B, N, ...].

    Soft targets get no gradient.

    Args:
        normalize: divide by the number of labels that count; False: by B.
        cache_score: has no effect here (it trades memory for speed in the original).
        class_weight: array [N] of weights for the classes.
        ignore_label: labels of this value do not count.
        reduce: "mean", or "no" for one loss per label.
        enable_double_backprop: the loss can always be differentiated twice here. As in the original, labels outside of
            [0, N) then count as the nearest class.
        soft_target_loss: "cross-entropy" or "kl-divergence", for soft targets.

    Raises:
        InvalidType: shapes or dtypes do not fit. IndexError: a label is not below N.
        ValueError: another value of `reduce` or `soft_target_loss`, a `class_weight` that is not an array [N] of
        floats.
    """
    if soft_target_loss not in ("cross-entropy", "kl-divergence"):
        raise ValueError(f"soft_target_loss must be 'cross-entropy' or 'kl-divergence'. Actual: {soft_target_loss!r}")
    options = normalize, cache_score, class_weight, ignore_label, reduce, soft_target_loss, enable_double_backprop
    return _cross_entropy(x, t, *options)


def _scores_and_labels(node: object, x: Type, t: Type) -> None:
    type_check._argname((x, t), ("x", "t"))
    expect(x.dtype.kind == "f", t.dtype.kind == "i")
    t_ndim = type_check.eval(t.ndim)
    expect(x.ndim >= t.ndim, x.shape[0] == t.shape[0], x.shape[2 : t_ndim + 1] == t.shape[1:])
    for axis in range(t_ndim + 1, type_check.eval(x.ndim)):
        expect(x.shape[axis] == 1)


@function("Accuracy", _scores_and_labels)
def accuracy(y: Tensor, t: Tensor, ignore_label: int | None = None) -> Tensor:
    """The share of rows of y [B, N, ...] with the largest element at t [B, ...], in the dtype of `y`.

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
    """The share of elements with the sign t (1, or 0 if negative); targets of -1 do not count."""
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
    # A class without rows is 0 / 0, NaN, and the numbers are float64 for any dtype of y (Chainer 7.8.1, recorded).
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
