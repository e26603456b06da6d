"""Measures without a gradient."""

from typing import Any

import torch

from ..utils import type_check
from ._checks import Type, expect
from ._rows import Tensor, function

__all__ = ["accuracy", "binary_accuracy", "r2_score"]


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
    total = int(counted.sum())
    return torch.tensor(int((right & counted).sum()) / total if total else 0.0, dtype=y.dtype, device=y.device)


def _signs(node: object, x: Type, t: Type) -> None:
    type_check._argname((x, t), ("x", "t"))
    expect(x.dtype.kind == "f", t.dtype.kind == "i", t.shape == x.shape)


@function("BinaryAccuracy", _signs)
def binary_accuracy(y: Tensor, t: Tensor) -> Tensor:
    """The share of elements whose sign (not negative: 1) agrees with t (0 or 1); targets of -1 do not count."""
    counted = t != -1
    right = (y >= 0) == (t == 1)
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
    score = torch.where(total != 0, 1 - residual / total, 0.0).to(pred.dtype)
    return score.mean() if multioutput == "uniform_average" else score
