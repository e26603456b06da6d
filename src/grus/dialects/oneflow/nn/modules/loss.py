"""Losses: torch's, with OneFlow's arguments."""

from __future__ import annotations

import torch

from ...framework.tensor import Tensor
from .. import functional as F
from .adopted import adopt

MSELoss = adopt(torch.nn.MSELoss, "reduction")
L1Loss = adopt(torch.nn.L1Loss, "reduction")
SmoothL1Loss = adopt(torch.nn.SmoothL1Loss, "reduction beta")
KLDivLoss = adopt(torch.nn.KLDivLoss, "reduction log_target")
BCELoss = adopt(torch.nn.BCELoss, "weight reduction")
BCEWithLogitsLoss = adopt(torch.nn.BCEWithLogitsLoss, "weight reduction pos_weight")
MarginRankingLoss = adopt(torch.nn.MarginRankingLoss, "margin reduction")
TripletMarginLoss = adopt(torch.nn.TripletMarginLoss, "margin p eps swap size_average reduce reduction")
CTCLoss = adopt(torch.nn.CTCLoss, "blank reduction zero_infinity")


class NLLLoss(adopt(torch.nn.NLLLoss, "weight ignore_index reduction")):  # type: ignore[misc]
    """The negative of the log-probability of the label, a number of any integer type."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return super().forward(input, target.long())


class CrossEntropyLoss(adopt(torch.nn.CrossEntropyLoss, "weight ignore_index reduction label_smoothing")):  # type: ignore[misc]
    """Softmax and the negative of the log-probability of the label, a number of any integer type."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)
