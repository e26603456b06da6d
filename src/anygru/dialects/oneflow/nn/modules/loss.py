"""Losses: torch's, with OneFlow's arguments."""

from typing import Any

import torch

from ...framework.tensor import Tensor
from ..functional import functions as F
from .adopted import adopt

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss", "NLLLoss", "SmoothL1Loss", "TripletMarginLoss",
]  # fmt: skip


def _loss(layer: type[torch.nn.Module], positional: str) -> Any:
    """A loss of torch, which refuses an unknown reduction when it is made."""
    adopted = adopt(layer, positional)
    make = adopted.__init__

    def checked(self: Any, *arguments: Any, **keywords: Any) -> None:
        make(self, *arguments, **keywords)
        assert self.reduction in ("none", "mean", "sum", "batchmean", None), (
            f"reduction must be 'none', 'mean' or 'sum', got {self.reduction!r}"
        )

    adopted.__init__ = checked
    return adopted


MSELoss = _loss(torch.nn.MSELoss, "reduction")
L1Loss = _loss(torch.nn.L1Loss, "reduction")
SmoothL1Loss = _loss(torch.nn.SmoothL1Loss, "reduction beta")
KLDivLoss = _loss(torch.nn.KLDivLoss, "reduction log_target")
BCELoss = _loss(torch.nn.BCELoss, "weight reduction")
BCEWithLogitsLoss = _loss(torch.nn.BCEWithLogitsLoss, "weight reduction pos_weight")
MarginRankingLoss = _loss(torch.nn.MarginRankingLoss, "margin reduction")
TripletMarginLoss = _loss(torch.nn.TripletMarginLoss, "margin p eps swap size_average reduce reduction")
CTCLoss = _loss(torch.nn.CTCLoss, "blank reduction zero_infinity")


class NLLLoss(_loss(torch.nn.NLLLoss, "weight ignore_index reduction")):  # type: ignore[misc]
    """The negative of the log-probability of the label, a number of any integer type."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return super().forward(input, target.long())


class CrossEntropyLoss(_loss(torch.nn.CrossEntropyLoss, "weight ignore_index reduction label_smoothing")):  # type: ignore[misc]
    """Softmax and the negative of the log-probability of the label, a number of any integer type."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)
