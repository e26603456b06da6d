"""`oneflow.nn.functional`: torch's functions, with OneFlow's arguments where torch has others."""

from __future__ import annotations

from typing import Any

from torch.nn import functional as _torch

from ...framework.dressing import dress
from ...framework.tensor import Tensor
from ..modules.adopted import named

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div", "l1_loss", "mse_loss",
    "one_hot", "smooth_l1_loss", "triplet_margin_loss",
]  # fmt: skip

mse_loss = named(_torch.mse_loss, "input target reduction")
l1_loss = named(_torch.l1_loss, "input target reduction")
smooth_l1_loss = named(_torch.smooth_l1_loss, "input target reduction beta")
kl_div = named(_torch.kl_div, "input target reduction log_target")
binary_cross_entropy = named(_torch.binary_cross_entropy, "input target weight reduction")
binary_cross_entropy_with_logits = named(
    _torch.binary_cross_entropy_with_logits, "input target weight pos_weight reduction"
)
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


def one_hot(input: Tensor, num_classes: int = -1, on_value: Any = 1, off_value: Any = 0) -> Any:
    """Rows of off_value with on_value at the label."""
    rows = _torch.one_hot(input.long(), num_classes)
    if (on_value, off_value) == (1, 0):
        return dress(rows)
    return dress(rows * (on_value - off_value) + off_value)
