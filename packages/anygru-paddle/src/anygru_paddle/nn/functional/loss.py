"""Loss functions."""

from typing import Any

import torch

from ...framework.dtype import single
from ...tensor.operation import need_same_dtype, need_tensor, operation, plain

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss",
    "hinge_embedding_loss", "kl_div", "l1_loss", "log_loss", "margin_ranking_loss", "mse_loss", "nll_loss",
    "smooth_l1_loss", "square_error_cost", "triplet_margin_loss",
]  # fmt: skip


def check_reduction(reduction: str, name: str) -> None:
    """Raise ValueError unless `reduction` is 'sum', 'mean' or 'none'."""
    if reduction not in ("sum", "mean", "none"):
        raise ValueError(
            f"The value of 'reduction' in {name} should be 'sum', 'mean' or 'none', but received {reduction}, "
            "which is not allowed."
        )


def reduced(loss: torch.Tensor, reduction: str) -> torch.Tensor:
    """The mean, the sum, or the loss itself."""
    return torch.mean(loss) if reduction == "mean" else torch.sum(loss) if reduction == "sum" else loss


def _same_kind(input: torch.Tensor, label: torch.Tensor, name: str) -> None:
    """Floating-point tensors go together, other dtypes only with themselves."""
    if not (input.is_floating_point() and label.is_floating_point()):
        need_same_dtype(input, label, name)


@operation
def square_error_cost(input: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """(input - label) squared."""
    _same_kind(input, label, "square_error_cost")
    return torch.square(torch.sub(input, label))


@operation
def mse_loss(
    input: torch.Tensor, label: torch.Tensor, reduction: str = "mean", name: str | None = None
) -> torch.Tensor:
    """(input - label) squared."""
    check_reduction(reduction, "mse_loss")
    _same_kind(input, label, "mse_loss")
    return reduced(torch.square(torch.sub(input, label)), reduction)


@operation
def l1_loss(input: torch.Tensor, label: torch.Tensor, reduction: str = "mean", name: str | None = None) -> torch.Tensor:
    """|input - label|."""
    check_reduction(reduction, "L1Loss")
    _same_kind(input, label, "L1Loss")
    return reduced(torch.abs(torch.sub(input, label)), reduction)


@operation
def smooth_l1_loss(
    input: torch.Tensor, label: torch.Tensor, reduction: str = "mean", delta: float = 1.0, name: str | None = None
) -> torch.Tensor:
    """Half the squared difference up to `delta`, linear beyond: delta * (|difference| - delta / 2)."""
    check_reduction(reduction, "smooth_l1_loss")
    # torch's own smooth_l1_loss divides by the bound; Paddle's is the Huber loss (recorded, 2.6.2).
    return reduced(torch._C._nn.huber_loss(input, label, 0, single(delta)), reduction)  # type: ignore[arg-type]


@operation
def kl_div(input: torch.Tensor, label: torch.Tensor, reduction: str = "mean", name: str | None = None) -> torch.Tensor:
    """label * (log(label) - input), `input` being log-probabilities."""
    if reduction not in ("sum", "mean", "none", "batchmean"):
        raise ValueError(
            f"The value of 'reduction' in kl_div should be 'sum', 'mean', 'batchmean' or 'none', but received {reduction}."
        )
    label = label.detach()  # labels have no gradient here and below (recorded, 2.6.2)
    loss = torch.sub(torch.xlogy(label, label), torch.mul(label, input))
    # Zero for labels below zero, where the formula gives nan (recorded, 2.6.2).
    loss = torch.where(torch.gt(label, 0), loss, torch.zeros_like(loss))
    if reduction == "batchmean":
        return torch.div(torch.sum(loss), int(input.shape[0]) if input.ndim else 1)
    return reduced(loss, reduction)


def _weighted(loss: torch.Tensor, weight: Any) -> torch.Tensor:
    return loss if weight is None else torch.mul(loss, weight)


def _same_shape(x: torch.Tensor, y: torch.Tensor, name: str) -> None:
    need_tensor(x, "input", name)
    need_tensor(y, "label", name)
    if list(x.shape) != list(y.shape):
        raise ValueError(
            f"(InvalidArgument) {name}: input and label must have one shape, got {list(x.shape)} and {list(y.shape)}"
        )


@operation
def binary_cross_entropy(
    input: torch.Tensor, label: torch.Tensor, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> torch.Tensor:
    """-label * log(input) - (1 - label) * log(1 - input), the logarithms held above -100."""
    check_reduction(reduction, "binary_cross_entropy")
    _same_shape(input, label, "binary_cross_entropy")
    if torch.Tensor.numel(input) and not (float(input.min()) >= 0 and float(input.max()) <= 1):
        raise ValueError("(InvalidArgument) binary_cross_entropy: input must be within [0, 1]; apply a sigmoid first")
    return reduced(_weighted(torch._C._nn.binary_cross_entropy(input, label.detach(), None, 0), weight), reduction)  # type: ignore[arg-type]


class _WeightedLogits(torch.autograd.Function):
    """The loss with `pos_weight` as Paddle 2.6 computes it, f being (pos_weight - 1) * label + 1.

    Only the logarithm is weighted, max(x, 0) - x * label + f * log(1 + exp(-|x|)), and the gradient by x is
    f * sigmoid(x) - label; both differ from the documented formula for negative x and f other than 1.
    """

    @staticmethod
    def forward(ctx: Any, logit: torch.Tensor, label: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(logit, label, factor)
        return logit.clamp(min=0) - logit * label + factor * torch.log1p(torch.exp(-logit.abs()))

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        logit, label, factor = ctx.saved_tensors
        return grad * (factor * torch.sigmoid(logit) - label), None, None


@operation
def binary_cross_entropy_with_logits(
    logit: torch.Tensor,
    label: torch.Tensor,
    weight: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
    name: str | None = None,
) -> torch.Tensor:
    """`binary_cross_entropy` of sigmoid(logit); see `_WeightedLogits` for Paddle's meaning of `pos_weight`."""
    check_reduction(reduction, "binary_cross_entropy_with_logits")
    _same_shape(logit, label, "binary_cross_entropy_with_logits")
    label = label.detach()
    loss = torch.binary_cross_entropy_with_logits(logit, label, None, None, 0)
    if pos_weight is not None:
        factor = torch.add(torch.mul(torch.sub(pos_weight, 1), label), 1)
        loss = _WeightedLogits.apply(plain(logit), plain(label), plain(factor))
    return reduced(_weighted(loss, weight), reduction)


def _weighs_nothing(label: torch.Tensor, weight: torch.Tensor | None, ignore_index: int) -> bool:
    """Whether every label is ignored, or of a class of weight 0."""
    ignored = plain(label) == ignore_index
    if weight is None or bool(ignored.all()):
        return bool(ignored.all())
    kept = plain(label)[~ignored]
    inside = bool(((kept >= 0) & (kept < weight.shape[0])).all())  # for others the kernel has an error
    return inside and not bool(plain(weight)[kept].any())


@operation
def nll_loss(
    input: torch.Tensor,
    label: torch.Tensor,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> torch.Tensor:
    """-input at the label along axis 1, `input` being log-probabilities [N, C, ...]."""
    check_reduction(reduction, "nll_loss")
    if input.ndim < 2:
        raise ValueError(f"Expected 2 or more dimensions (got {input.ndim})")
    if int(input.shape[1]) < 1:
        raise ValueError(f"Expected 1 or more classes (got num classes {input.shape[1]})")
    if input.ndim == label.ndim == 2 and int(label.shape[1]) == 1:  # taken too (recorded, 2.6.2)
        label = torch.squeeze(label, 1)
    reductions = {"none": 0, "mean": 1, "sum": 2}
    try:
        function = torch._C._nn.nll_loss if input.ndim == 2 else torch._C._nn.nll_loss_nd  # type: ignore[attr-defined]
        places = torch.Tensor.to(label, torch.int64)
        if reduction == "mean" and torch.Tensor.numel(label) and _weighs_nothing(places, weight, ignore_index):
            reduction = "sum"  # torch's mean is nan then, Paddle's zero (recorded, 2.6.2)
        weight = None if weight is None else weight.detach()
        return function(input, places, weight, reductions[reduction], ignore_index)  # type: ignore[arg-type]
    except IndexError as error:
        raise ValueError(f"(InvalidArgument) nll_loss: {error}") from error


@operation
def margin_ranking_loss(
    input: torch.Tensor,
    other: torch.Tensor,
    label: torch.Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
    name: Any = None,
) -> torch.Tensor:
    """max(0, -label * (input - other) + margin)."""
    check_reduction(reduction, "MarginRankingLoss")
    # This margin is not rounded to float32; the margins of the losses below are (recorded, 2.6.2).
    loss = torch.relu(torch.add(torch.mul(torch.neg(label), torch.sub(input, other)), margin))
    return reduced(loss, reduction)


@operation
def hinge_embedding_loss(
    input: torch.Tensor, label: torch.Tensor, margin: float = 1.0, reduction: str = "mean", name: Any = None
) -> torch.Tensor:
    """The input where the label is 1, max(0, margin - input) where it is -1."""
    check_reduction(reduction, "hinge_embedding_loss")
    zero = torch.zeros_like(input)  # for any label but 1 and -1, too (recorded, 2.6.2)
    alike = torch.where(torch.eq(label, 1), input, zero)
    apart = torch.where(torch.eq(label, -1), torch.relu(torch.sub(single(margin), input)), zero)
    return reduced(torch.add(alike, apart), reduction)


@operation
def cosine_embedding_loss(
    input1: torch.Tensor,
    input2: torch.Tensor,
    label: torch.Tensor,
    margin: float = 0,
    reduction: str = "mean",
    name: Any = None,
) -> torch.Tensor:
    """1 - cosine where the label is 1, max(0, cosine - margin) where it is -1."""
    check_reduction(reduction, "cosine_embedding_loss")
    if label.ndim != 1 or input1.ndim > 2 or list(input1.shape) != list(input2.shape):
        raise ValueError(
            "(InvalidArgument) cosine_embedding_loss(): labels must be 1-D, inputs 1-D or 2-D of one shape"
        )
    if not (input1.is_floating_point() and input2.is_floating_point()):
        raise ValueError("The data type of input Variable must be 'float32' or 'float64'")
    # torch adds ten times less (recorded, 2.6.2).
    squares = [torch.add(torch.sum(torch.mul(each, each), -1), single(1e-11)) for each in (input1, input2)]
    cosine = torch.div(torch.sum(torch.mul(input1, input2), -1), torch.sqrt(torch.mul(*squares)))
    apart = torch.where(torch.eq(label, -1), torch.relu(torch.sub(cosine, single(margin))), 0.0)
    return reduced(torch.where(torch.eq(label, 1), torch.rsub(cosine, 1), apart), reduction)


@operation
def triplet_margin_loss(
    input: torch.Tensor,
    positive: torch.Tensor,
    negative: torch.Tensor,
    margin: float = 1.0,
    p: float = 2,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    name: Any = None,
) -> torch.Tensor:
    """max(0, distance to positive - distance to negative + margin)."""
    check_reduction(reduction, "triplet_margin_loss")
    if margin < 0:
        raise ValueError(
            f"The margin between positive samples and negative samples should be greater than 0, got {margin}."
        )
    return reduced(torch.triplet_margin_loss(input, positive, negative, single(margin), p, epsilon, swap, 0), reduction)


@operation
def log_loss(input: torch.Tensor, label: torch.Tensor, epsilon: float = 1e-4, name: str | None = None) -> torch.Tensor:
    """-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)."""
    label = label.detach()
    first = torch.mul(label, torch.log(torch.add(input, epsilon)))
    second = torch.mul(torch.sub(1, label), torch.log(torch.add(torch.sub(1, input), epsilon)))
    return torch.neg(torch.add(first, second))


@operation
def ctc_loss(
    log_probs: torch.Tensor,
    labels: torch.Tensor,
    input_lengths: torch.Tensor,
    label_lengths: torch.Tensor,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
) -> torch.Tensor:
    """The connectionist temporal classification loss.

    Args:
        log_probs: scores before the softmax, [T, B, C].
        labels: [B, longest label].
        input_lengths: steps of each sequence, [B].
        label_lengths: length of each label, [B].
        blank: the index of the blank class.
        reduction: 'mean' divides each loss by its label's length first.
        norm_by_times: divide the gradients of each sequence by its steps; the loss stays.
    """
    check_reduction(reduction, "ctc_loss")
    steps = plain(torch.Tensor.to(input_lengths, torch.int64))
    lengths = plain(torch.Tensor.to(label_lengths, torch.int64))
    loss = torch.ctc_loss(
        torch.log_softmax(plain(log_probs), -1), plain(torch.Tensor.to(labels, torch.int64)),
        steps, lengths, blank, 0, False,
    )  # fmt: skip
    if norm_by_times:
        # The value of the loss, and a share of its gradient.
        loss = loss.detach() + (loss - loss.detach()) / steps.reshape(loss.shape)
    # A label of length 0 counts as one of 1 here; 2.6.2 ends the process on it (recorded).
    return torch.mean(loss / lengths.clamp(min=1)) if reduction == "mean" else reduced(loss, reduction)
