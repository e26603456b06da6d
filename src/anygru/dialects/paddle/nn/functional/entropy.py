"""Cross entropy of class scores, with hard and soft labels."""

from typing import Any

import torch

from ...base.errors import paddles
from ...framework.dtype import single, torch_dtype
from ...tensor.operation import need_tensor, operation, plain
from .loss import check_reduction, reduced

__all__ = ["cross_entropy", "softmax_with_cross_entropy"]


def _hard(log_p: torch.Tensor, label: torch.Tensor, axis: int, ignore_index: int) -> tuple[torch.Tensor, torch.Tensor]:
    """-log_p at the labels (0 where ignored) with the class axis kept, and the labels in that shape."""
    if label.ndim == log_p.ndim - 1:
        label = torch.unsqueeze(label, axis)
    expected = list(log_p.shape)
    expected[axis] = 1
    if list(label.shape) != expected:
        raise ValueError(
            f"(InvalidArgument) cross_entropy: label must have shape {expected} or that without the 1, got {list(label.shape)}"
        )
    label = plain(torch.Tensor.to(label, torch.int64))
    ignored = label == ignore_index
    classes = int(log_p.shape[axis])
    safe = torch.where(ignored, 0, label)
    if safe.numel() and not (int(safe.min()) >= 0 and int(safe.max()) < classes):
        raise paddles(
            IndexError(
                f"(OutOfRange) label value must be within [0, {classes}) or ignore_index {ignore_index}, got values from "
                f"{int(safe.min())} to {int(safe.max())}"
            )
        )
    loss = torch.neg(torch.gather(plain(log_p), axis, safe))
    return torch.where(ignored, torch.zeros((), dtype=loss.dtype), loss), label


def _log_probabilities(input: torch.Tensor, axis: int, use_softmax: bool) -> torch.Tensor:
    return torch.log_softmax(input, axis) if use_softmax else torch.log(input)


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
    """The cross entropy of softmax(logits), the class axis kept with length 1; with `return_softmax` the softmax too."""
    axis %= logits.ndim
    log_p = torch.log_softmax(logits, axis)
    if soft_label:
        loss = torch.neg(torch.sum(torch.mul(label, log_p), dim=axis, keepdim=True))
    else:
        loss = _hard(log_p, label, axis, ignore_index)[0]
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
        ValueError: for shapes that do not fit or a label that is no class.
    """
    if reduction not in ("sum", "mean", "none"):
        check_reduction(reduction, "softmax_cross_entropy")
    need_tensor(input, "input", "cross_entropy")
    need_tensor(label, "label", "cross_entropy")
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
        soft_label, label = True, _smoothed(input, label, axis, label_smoothing, soft_label)
    log_p = _log_probabilities(input, axis, use_softmax)
    if soft_label:
        total = torch.logsumexp(plain(input), axis, keepdim=True) if use_softmax else None
        return _soft_cross_entropy(log_p, plain(label).detach(), weight, reduction, axis, total)
    loss, labels = _hard(log_p, label, axis, ignore_index)
    counts = (labels != ignore_index).to(loss.dtype)
    if weight is not None:
        if int(weight.shape[-1]) != int(input.shape[axis]):
            raise ValueError(
                f"input's class_dimension({input.shape[axis]}) must equal to weight's class_dimension({weight.shape[-1]}) "
                "when weight is provided"
            )
        factors = plain(weight)[torch.where(labels == ignore_index, 0, labels)] * counts
        loss, counts = loss * factors, factors
    if reduction == "mean":
        total = counts.sum()
        return torch.div(loss.sum(), torch.where(total == 0, torch.ones_like(total), total))
    if reduction == "sum":
        return torch.sum(loss)
    return torch.squeeze(loss, axis) if label.ndim == input.ndim - 1 else loss


def _smoothed(input: torch.Tensor, label: torch.Tensor, axis: int, smoothing: float, soft: bool) -> torch.Tensor:
    classes = int(input.shape[axis])
    if not soft:
        flat = torch.squeeze(label, axis) if label.ndim == input.ndim else label
        one_hot = torch.nn.functional.one_hot(plain(torch.Tensor.to(flat, torch.int64)), classes)
        label = torch.movedim(one_hot.to(torch.float32), -1, axis)  # Paddle smooths in single precision
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
    if total is not None:  # Paddle's gradient is softmax - label, also for labels whose sum is not 1
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
