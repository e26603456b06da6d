"""Losses."""

import contextlib
from typing import Any

import torch

from ..backends._tensors import as_array, as_tensor
from ..configuration import config
from ..types import NdArray, VariableLike
from ..utils import type_check
from ..variable import Variable
from ._checks import Type, as_runtime_error, check_reduce, expect, one_dtype, one_shape, real
from ._rows import Tensor, function
from .arithmetic import magnitude

__all__ = [
    "absolute_error", "huber_loss", "mean_absolute_error", "mean_squared_error", "sigmoid_cross_entropy",
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
        reduce: "mean", or "no" for one loss per target (ValueError for anything else).
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
    # A loss to be differentiated twice is made of other functions, whose errors remain InvalidType (7.8.1, recorded).
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
    # The mean is over labels, whatever their classes weigh, unlike torch's; without any label it is 0 (7.8.1, recorded).
    count = counted.sum() if normalize else torch.tensor(len(x), device=x.device)
    return (loss.sum() / count.clamp(min=1)).to(x.dtype)


def _scores(node: Any) -> NdArray | None:
    """The value that Chainer keeps: the softmax, as `loss.creator.y`; None unless `cache_score`."""
    return as_array(torch.softmax(node._leaves[0].detach(), 1)) if node.cache_score and node._leaves else None


SoftmaxCrossEntropy.y = property(_scores)  # type: ignore[name-defined]  # noqa: F821


def _of_soft_targets(x: Tensor, log_p: Tensor, t: Tensor, soft_target_loss: str) -> Tensor:
    # The gradient is softmax(x) - t, also for targets whose sum is not 1 (Chainer 7.8.1, recorded).
    rest = (1 - t.sum(1)) * x.logsumexp(1)
    loss = rest - rest.detach() - (t * log_p).sum(1)
    if soft_target_loss == "kl-divergence":
        # The 1e-7 is Chainer's (7.8.1, SoftmaxCrossEntropy, recorded).
        loss = loss + (t * torch.log(t + 1e-7)).sum(1)
    return loss


def _labels(t: Tensor, counted: Tensor, n_classes: int, ignore_label: int, clip: bool) -> Tensor:
    labels = torch.where(counted, t, 0).long()
    if clip and not config.debug:
        # With enable_double_backprop labels outside are moved to the nearest class; without it a negative one counts
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
        ValueError: another value of `reduce` or `soft_target_loss`, a `class_weight` that is no array [N] of floats.
    """
    if soft_target_loss not in ("cross-entropy", "kl-divergence"):
        raise ValueError(f"soft_target_loss must be 'cross-entropy' or 'kl-divergence'. Actual: {soft_target_loss!r}")
    options = normalize, cache_score, class_weight, ignore_label, reduce, soft_target_loss, enable_double_backprop
    return _cross_entropy(x, t, *options)
