"""`oneflow.nn.functional`: torch's functions, with OneFlow's arguments where torch has others."""

from typing import Any

import torch
from torch.nn import functional as _torch

from ...framework.dressing import dress
from ...framework.tensor import Tensor
from ..modules.adopted import named, with_defaults

__all__ = [
    "affine_grid", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy",
    "ctc_greedy_decoder",
    "dropout", "grid_sample", "kl_div", "l1_loss", "mse_loss", "one_hot", "smooth_l1_loss",
    "sparse_softmax_cross_entropy", "triplet_margin_loss",
]  # fmt: skip

mse_loss = named(_torch.mse_loss, "input target reduction")
l1_loss = named(_torch.l1_loss, "input target reduction")
smooth_l1_loss = named(_torch.smooth_l1_loss, "input target reduction beta")
kl_div = named(_torch.kl_div, "input target reduction log_target")
binary_cross_entropy = named(_torch.binary_cross_entropy, "input target weight reduction")
binary_cross_entropy_with_logits = named(
    _torch.binary_cross_entropy_with_logits, "input target weight pos_weight reduction"
)
affine_grid = with_defaults(_torch.affine_grid, align_corners=False)
grid_sample = with_defaults(_torch.grid_sample, align_corners=False)
triplet_margin_loss = named(_torch.triplet_margin_loss, "anchor positive negative margin p eps swap reduction")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """As torch's; the labels may be of any integer type."""
    labels = target if target.is_floating_point() else target.long()
    if not labels.is_floating_point() and labels.dim() == input.dim():  # a column of labels
        labels = labels.reshape(input.shape[0], *input.shape[2:])
    return _torch.cross_entropy(
        input, labels, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def sparse_softmax_cross_entropy(labels: Tensor, logits: Tensor) -> Any:
    """The cross entropy of each row."""
    return cross_entropy(logits, labels, reduction="none")


def dropout(
    x: Tensor,
    p: float = 0.5,
    training: bool = True,
    generator: torch.Generator | None = None,
    *,
    addend: Tensor | None = None,
) -> Any:
    """Zeros with probability p, and the rest scaled up; `addend` is added after that.

    Args:
        generator: the source of the draws, torch's default one if None.
    """
    if generator is None or not training:
        kept = _torch.dropout(x, p, bool(training))
    else:
        mask = torch.empty_like(x).bernoulli_(1 - p, generator=generator)
        kept = x * mask / (1 - p) if p < 1 else x * mask
    return kept if addend is None else kept + addend


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """As torch's, but it also trains on a single value a channel: it becomes zero, the running variance NaN (recorded)."""
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def ctc_greedy_decoder(log_probs: Tensor, input_lengths: Tensor, merge_repeated: bool = True) -> tuple[Any, Any]:
    """The best label of each step, without blanks; blank is the last label.

    Args:
        log_probs: [T, B, labels].
        input_lengths: in steps, [B].
        merge_repeated: take a label once that stands in steps one after the other.

    Returns:
        The labels [B, T], filled up with zeros, and the negative sum of their log-probabilities [B, 1].
    """
    with torch.no_grad():
        best, labels = (part.transpose(0, 1) for part in log_probs.max(dim=2))
        steps = torch.arange(labels.shape[1])
        kept = (there := steps < input_lengths.reshape(-1, 1)) & (labels != log_probs.shape[2] - 1)
        if merge_repeated:
            kept = kept & torch.cat([kept[:, :1] | True, labels[:, 1:] != labels[:, :-1]], dim=1)
        decoded = torch.zeros_like(labels)
        for row, (values, mask) in enumerate(zip(labels, kept, strict=True)):
            found = values[mask.bool()]
            decoded[row, : len(found)] = found
        return dress(decoded), dress(-(best * there).sum(dim=1, keepdim=True))


def one_hot(input: Tensor, num_classes: int = -1, on_value: Any = 1, off_value: Any = 0) -> Any:
    """Rows of off_value with on_value at the label."""
    rows = _torch.one_hot(input.long(), num_classes)
    if (on_value, off_value) == (1, 0):
        return dress(rows)
    return dress(rows * (on_value - off_value) + off_value)
