"""Loss functions as layers."""

from __future__ import annotations

from typing import Any

import torch

from ...tensor.tensor import Tensor
from ..functional import loss as F
from ..functional.loss import check_reduction
from .layers import Layer

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "HingeEmbeddingLoss",
    "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "NLLLoss", "SmoothL1Loss", "TripletMarginLoss",
]  # fmt: skip


class MSELoss(Layer):
    """The squared difference."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction, "MSELoss")
        self.reduction = reduction

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.mse_loss(input, label, self.reduction)


class L1Loss(Layer):
    """The absolute difference."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction(reduction, "L1Loss")
        self.reduction, self.name = reduction, name

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.l1_loss(input, label, self.reduction)


class SmoothL1Loss(Layer):
    """Half the squared difference up to `delta`, linear beyond."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0, name: str | None = None) -> None:
        super().__init__()
        self.reduction, self.delta, self.name = reduction, delta, name

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.smooth_l1_loss(input, label, self.reduction, self.delta)


class KLDivLoss(Layer):
    """label * (log(label) - input)."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.kl_div(input, label, self.reduction)


class CrossEntropyLoss(Layer):
    """The cross entropy of class scores and labels; see `paddle.nn.functional.cross_entropy`."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
        label_smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.weight = weight
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.soft_label = soft_label
        self.axis = axis
        self.use_softmax = use_softmax
        self.label_smoothing = label_smoothing
        self.name = name

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.cross_entropy(
            input, label, self.weight, self.ignore_index, self.reduction, self.soft_label, self.axis, self.use_softmax,
            self.label_smoothing,
        )  # fmt: skip


class NLLLoss(Layer):
    """-input at the label, `input` being log-probabilities [N, C, ...]."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__()
        check_reduction(reduction, "nll_loss")
        self._weight, self._ignore_index, self._reduction, self._name = weight, ignore_index, reduction, name

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.nll_loss(input, label, self._weight, self._ignore_index, self._reduction)


class BCELoss(Layer):
    """The cross entropy of probabilities of one class."""

    def __init__(self, weight: Any = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction(reduction, "bce_loss")
        self.weight, self.reduction, self.name = weight, reduction, name

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy(input, label, self.weight, self.reduction)


class BCEWithLogitsLoss(Layer):
    """The cross entropy of scores of one class."""

    def __init__(
        self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None, name: str | None = None
    ) -> None:
        super().__init__()
        check_reduction(reduction, "BCEWithLogitsLoss")
        self.weight, self.reduction, self.pos_weight, self.name = weight, reduction, pos_weight, name

    def forward(self, logit: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy_with_logits(logit, label, self.weight, self.reduction, self.pos_weight)


class MarginRankingLoss(Layer):
    """max(0, -label * (input - other) + margin)."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction(reduction, "MarginRankingLoss")
        self.margin, self.reduction, self.name = margin, reduction, name

    def forward(self, input: torch.Tensor, other: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction)


class HingeEmbeddingLoss(Layer):
    """The input where the label is 1, max(0, margin - input) where it is -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        self.margin, self.reduction, self.name = margin, reduction, name

    def forward(self, input: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.hinge_embedding_loss(input, label, self.margin, self.reduction)


class CosineEmbeddingLoss(Layer):
    """1 - cosine where the label is 1, max(0, cosine - margin) where it is -1."""

    def __init__(self, margin: float = 0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction(reduction, "CosineEmbeddingLoss")
        if not -1 <= margin <= 1:
            raise ValueError(
                f"The value of 'margin' should be in the interval of [-1, 1], but received {margin:f}, which is not allowed."
            )
        self.margin, self.reduction, self.name = margin, reduction, name

    def forward(self, input1: torch.Tensor, input2: torch.Tensor, label: torch.Tensor) -> Tensor:
        """The loss."""
        return F.cosine_embedding_loss(input1, input2, label, self.margin, self.reduction)


class TripletMarginLoss(Layer):
    """max(0, distance to positive - distance to negative + margin)."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        epsilon: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_reduction(reduction, "TripletMarginLoss")
        self.margin, self.p, self.epsilon, self.swap = margin, p, epsilon, swap
        self.reduction, self.name = reduction, name

    def forward(self, input: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> Tensor:
        """The loss."""
        return F.triplet_margin_loss(
            input, positive, negative, self.margin, self.p, self.epsilon, self.swap, self.reduction
        )


class CTCLoss(Layer):
    """The connectionist temporal classification loss; see `paddle.nn.functional.ctc_loss`."""

    def __init__(self, blank: int = 0, reduction: str = "mean") -> None:
        super().__init__()
        self.blank, self.reduction = blank, reduction

    def forward(
        self,
        log_probs: torch.Tensor,
        labels: torch.Tensor,
        input_lengths: torch.Tensor,
        label_lengths: torch.Tensor,
        norm_by_times: bool = False,
    ) -> Tensor:
        """The loss."""
        return F.ctc_loss(log_probs, labels, input_lengths, label_lengths, self.blank, self.reduction, norm_by_times)
