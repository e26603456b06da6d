"""Losses: torch's, with OneFlow's arguments."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from ...framework.dressing import torch_dtype
from ...framework.tensor import Tensor
from ..functional import functions as F
from .adopted import adopt
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CombinedMarginLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss", "NLLLoss", "SmoothL1Loss", "TripletMarginLoss",
]  # fmt: skip


def _loss(layer: type[torch.nn.Module], positional: str, forward: Callable[..., Any] | None = None) -> Any:
    """A loss of torch, which refuses an unknown reduction when it is made, and later any input except tensors."""
    adopted = adopt(layer, positional)
    make, compute = adopted.__init__, forward or adopted.forward

    @wraps(compute)
    def of_tensors_only(self: Any, *inputs: Any, **named: Any) -> Any:
        for value in (*inputs, *named.values()):
            torch_dtype(value)
        return compute(self, *inputs, **named)

    def checked(self: Any, *arguments: Any, **keywords: Any) -> None:
        make(self, *arguments, **keywords)
        assert self.reduction in ("none", "mean", "sum", "batchmean", None), (
            f"reduction must be 'none', 'mean' or 'sum', got {self.reduction!r}"
        )

    adopted.__init__ = checked
    if layer is not torch.nn.CTCLoss:  # which takes lengths as numbers
        adopted.forward = of_tensors_only
    return adopted


def _reduced(losses: Tensor, reduction: str) -> Any:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


MSELoss = _loss(torch.nn.MSELoss, "reduction")
L1Loss = _loss(torch.nn.L1Loss, "reduction")
SmoothL1Loss = _loss(torch.nn.SmoothL1Loss, "reduction beta")
KLDivLoss = _loss(
    torch.nn.KLDivLoss,
    "reduction log_target",
    lambda self, input, target: F.kl_div(input, target, self.log_target, self.reduction),
)
BCELoss = _loss(torch.nn.BCELoss, "weight reduction")
MarginRankingLoss = _loss(
    torch.nn.MarginRankingLoss,
    "margin reduction",
    lambda self, input1, input2, target: _reduced(
        (self.margin - target * (input1 - input2)).clamp(min=0), self.reduction
    ),
)
TripletMarginLoss = _loss(torch.nn.TripletMarginLoss, "margin p eps swap size_average reduce reduction")
CTCLoss = _loss(torch.nn.CTCLoss, "blank reduction zero_infinity")


class BCEWithLogitsLoss(_loss(torch.nn.BCEWithLogitsLoss, "weight reduction pos_weight")):  # type: ignore[misc]
    """As torch.nn.BCEWithLogitsLoss; `pos_weight` is not a buffer, and so not part of a state."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.__dict__["pos_weight"] = self._buffers.pop("pos_weight")


class NLLLoss(_loss(torch.nn.NLLLoss, "weight ignore_index reduction")):  # type: ignore[misc]
    """The negative of the log-probability of the label, a number of any integer type."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return super().forward(input, target.long())


class CrossEntropyLoss(_loss(torch.nn.CrossEntropyLoss, "weight ignore_index reduction label_smoothing")):  # type: ignore[misc]
    """Softmax and the negative of the log-probability of the label, a number of any integer type."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class CombinedMarginLoss(Module):
    """Widen the angle of the label's cosine: `cos(m1 * angle + m2) - m3` (Deng et al., 2019), for a cross entropy to follow."""

    def __init__(self, m1: float = 1.0, m2: float = 0.0, m3: float = 0.0) -> None:
        super().__init__()
        self.m1, self.m2, self.m3 = m1, m2, m3

    def forward(self, x: Tensor, label: Tensor) -> Any:
        places = label.long().reshape(-1, 1)
        own = x.gather(1, places)
        widened = (own.acos() * self.m1 + self.m2).cos() if (self.m1, self.m2) != (1.0, 0.0) else own
        return x.scatter(1, places, widened - self.m3)
