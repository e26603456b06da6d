"""Cross entropy of class scores, with hard and soft labels."""

from typing import Any

import torch

from ...base.errors import paddles
from ...framework.dtype import single, torch_dtype
from ...tensor.operation import operation, plain
from .loss import check_reduction, reduced
from .softmaxes import log_softmax

__all__ = ["cross_entropy", "softmax_with_cross_entropy"]

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}  # torch's numbers
_torch_shape = torch.Tensor.shape.__get__  # type: ignore[attr-defined]


def _labels(log_p: torch.Tensor, label: torch.Tensor, axis: int) -> torch.Tensor:
    """Hard labels as int64, the class axis kept with length 1."""
    if label.ndim == log_p.ndim - 1:
        label = torch.unsqueeze(label, axis)
    expected = list(_torch_shape(log_p))
    expected[axis] = 1
    if list(_torch_shape(label)) != expected:
        raise ValueError(
            f"(InvalidArgument) cross_entropy: label must have shape {expected} or that without the 1, got {list(label.shape)}"
        )
    return plain(torch.Tensor.to(label, torch.int64))


def _need_classes(label: torch.Tensor, classes: int, ignore_index: int) -> None:
    safe = torch.where(label == ignore_index, 0, label)
    if safe.numel() and not (int(safe.min()) >= 0 and int(safe.max()) < classes):
        raise paddles(
            IndexError(
                f"(OutOfRange) label value must be within [0, {classes}) or ignore_index {ignore_index}, got values from "
                f"{int(safe.min())} to {int(safe.max())}"
            )
        )


def _hard(log_p: torch.Tensor, label: torch.Tensor, axis: int, ignore_index: int, reduction: str) -> Any:
    """-log_p at the labels that `_labels` gave, 0 where ignored, in their shape; or the mean or sum of all."""
    classes = int(_torch_shape(log_p)[axis])
    if not label.is_cpu:  # on a GPU torch's kernel would stop the process instead of raising
        _need_classes(label, classes, ignore_index)
    rows = log_p if axis == log_p.ndim - 1 else torch.movedim(log_p, axis, -1)
    rows = rows if rows.ndim == 2 else torch.reshape(rows, (-1, classes))
    try:
        # The operator itself returns the number of labels that count; torch.nn.functional.nll_loss does not.
        loss, counted = torch.ops.aten.nll_loss_forward(
            plain(rows), label.reshape(-1), None, _REDUCTIONS[reduction], ignore_index
        )
    except IndexError:
        _need_classes(label, classes, ignore_index)
        raise
    if reduction == "none":
        return loss.reshape(label.shape)
    if reduction == "mean" and not float(counted):  # torch's mean of no label is NaN, Paddle's zero (recorded, 2.6.2)
        return _hard(log_p, label, axis, ignore_index, "sum")
    return loss


def _log_probabilities(input: torch.Tensor, axis: int, use_softmax: bool) -> torch.Tensor:
    return log_softmax(input, axis) if use_softmax else torch.log(input)


@operation
def softmax_with_cross_entropy(
    logits: torch.Tensor,
    label: torch.Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """The cross entropy of softmax(logits), the class axis kept with length 1; with `return_softmax` also the softmax."""
    axis %= logits.ndim
    log_p = log_softmax(logits, axis)
    if soft_label:
        total = torch.logsumexp(plain(logits), axis, keepdim=True)
        loss = _soft_cross_entropy(log_p, plain(label).detach(), None, "none", axis, total)
    else:
        loss = _hard(log_p, _labels(log_p, label, axis), axis, ignore_index, "none")
    return (loss, torch.exp(log_p)) if return_softmax else loss


@operation
def cross_entropy(
    input: torch.Tensor,
    label: torch.Tensor,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> torch.Tensor:
    """The cross entropy of class scores and labels.

    Args:
        input: scores, the classes along `axis`; probabilities with `use_softmax=False`.
        label: class numbers in the shape of `input` without the class axis (or with length 1 there), or probabilities in
            the shape of `input` (`soft_label=True`).
        weight: a weight a class, [C].
        ignore_index: a label that counts nothing.
        reduction: 'mean' (over weights and labels that count), 'sum' or 'none'.
        soft_label: whether labels are probabilities.
        axis: the class axis.
        use_softmax: whether `input` still needs a softmax.
        label_smoothing: how much of each label is spread over all classes.

    Raises:
        ValueError: for shapes that do not fit or a label that is not a class.
    """
    if reduction not in ("sum", "mean", "none"):
        check_reduction(reduction, "softmax_cross_entropy")
    # 0 and negative numbers pass and have no effect on soft labels (Paddle 2.6.2, recorded).
    if ignore_index > 0 and soft_label:
        raise ValueError(
            "When soft_label == True, the value of 'ignore_index' in softmax_cross_entropy should be '-100', "
            f"but received {ignore_index}, which is not allowed."
        )
    if input.ndim == 0:
        raise ValueError("The dimention of input should be larger than zero!")
    if label.ndim not in (input.ndim, input.ndim - 1):
        raise ValueError(
            f"Expected nput_dims - 1 = label_dims or input_dims == label_dims (got nput_dims{input.ndim}, label_dims{label.ndim})"
        )
    axis %= input.ndim
    if label_smoothing > 0:
        soft_label, label = True, _smoothed(input, label, axis, label_smoothing)
    log_p = _log_probabilities(input, axis, use_softmax)
    if soft_label:
        total = torch.logsumexp(plain(input), axis, keepdim=True) if use_softmax else None
        # Soft labels get no gradient in Paddle 2.6.2 (recorded).
        return _soft_cross_entropy(log_p, plain(label).detach(), weight, reduction, axis, total)
    labels = _labels(log_p, label, axis)
    if weight is None:
        loss = _hard(log_p, labels, axis, ignore_index, reduction)
    else:
        loss = _weighted(log_p, labels, plain(weight), axis, ignore_index, reduction)
    return loss if reduction != "none" or label.ndim == input.ndim else torch.squeeze(loss, axis)


def _weighted(
    log_p: torch.Tensor, label: torch.Tensor, weight: torch.Tensor, axis: int, ignore_index: int, reduction: str
) -> torch.Tensor:
    """As `_hard`, every element times the weight of its class. The weight gets a gradient as well."""
    if int(weight.shape[-1]) != int(log_p.shape[axis]):
        raise ValueError(
            f"input's class_dimension({log_p.shape[axis]}) must equal to weight's class_dimension({weight.shape[-1]}) "
            "when weight is provided"
        )
    loss = _hard(log_p, label, axis, ignore_index, "none")
    ignored = label == ignore_index
    factors = torch.where(ignored, 0.0, weight[torch.where(ignored, 0, label)])
    loss = loss * factors
    if reduction != "mean":
        return loss.sum() if reduction == "sum" else loss
    total = factors.sum()
    # Where all weights are 0 the mean is 0 in Paddle 2.6.2 (recorded), and nan in torch.
    return torch.div(loss.sum(), torch.where(total == 0, torch.ones_like(total), total))


def _smoothed(input: torch.Tensor, label: torch.Tensor, axis: int, smoothing: float) -> torch.Tensor:
    """Labels as probabilities; labels of the shape of `input` already are, for any `soft_label` (recorded, 2.6.2)."""
    classes = int(input.shape[axis])
    if list(label.shape) != list(input.shape):
        flat = torch.squeeze(label, axis) if label.ndim == input.ndim else label
        one_hot = torch.nn.functional.one_hot(plain(torch.Tensor.to(flat, torch.int64)), classes)
        label = torch.movedim(one_hot.to(torch.float32), -1, axis)  # smoothed in single precision (recorded, 2.6.2)
    smoothed = torch.add(torch.mul(label, single(1 - smoothing)), single(single(smoothing) / classes))
    return torch.Tensor.to(smoothed, torch_dtype(input.dtype))


def _soft_cross_entropy(
    log_p: torch.Tensor, label: torch.Tensor, weight: Any, reduction: str, axis: int, total: torch.Tensor | None
) -> torch.Tensor:
    if list(label.shape) != list(log_p.shape):
        raise ValueError(
            f"(InvalidArgument) cross_entropy: soft labels must have shape {list(log_p.shape)}, got {list(label.shape)}"
        )
    loss = torch.neg(torch.sum(torch.mul(label, log_p), dim=axis, keepdim=True))
    if total is not None:  # the gradient is softmax - label, also for labels with another sum than 1 (recorded, 2.6.2)
        loss = loss + (1 - label.sum(axis, keepdim=True)) * (total - total.detach())
    if weight is None:
        return reduced(loss, reduction)
    shape = [1] * log_p.ndim
    shape[axis] = -1
    factors = torch.sum(torch.mul(label, torch.reshape(weight, shape)), dim=axis, keepdim=True)
    loss = torch.mul(loss, factors)
    if reduction == "mean":
        return torch.div(torch.sum(loss), torch.sum(factors))
    return torch.sum(loss) if reduction == "sum" else loss
