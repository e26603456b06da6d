"""Losses with margins, of distributions and of overlaps."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ...framework.dtype import single
from ...tensor.operation import operation, plain
from .loss import check_reduction, reduced
from .softmaxes import log_softmax

__all__ = [
    "dice_loss", "gaussian_nll_loss", "hsigmoid_loss", "multi_label_soft_margin_loss", "multi_margin_loss",
    "npair_loss", "poisson_nll_loss", "sigmoid_focal_loss", "soft_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


@operation
def gaussian_nll_loss(
    input: torch.Tensor, label: torch.Tensor, variance: torch.Tensor, full: bool = False, epsilon: float = 1e-6,
    reduction: str = "mean", name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The negative log likelihood of labels under normal distributions of mean `input`."""
    check_reduction(reduction, "gaussian_nll_loss")
    # The variance has no gradient (recorded, 2.6.2).
    loss = F.gaussian_nll_loss(plain(input), plain(label), plain(variance).detach(), False, epsilon, "none")
    return reduced(loss + single(0.5 * math.log(2 * math.pi)) if full else loss, reduction)


@operation
def poisson_nll_loss(
    input: torch.Tensor, label: torch.Tensor, log_input: bool = True, full: bool = False, epsilon: float = 1e-8,
    reduction: str = "mean", name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The negative log likelihood of labels under Poisson distributions."""
    check_reduction(reduction, "poisson_nll_loss")
    if epsilon <= 0:
        raise ValueError(f"The value of `epsilon` in poisson_nll_loss should be positve, but received {epsilon:f}")
    return F.poisson_nll_loss(plain(input), plain(label), log_input, full, eps=epsilon, reduction=reduction)


@operation
def soft_margin_loss(
    input: torch.Tensor, label: torch.Tensor, reduction: str = "mean", name: str | None = None
) -> torch.Tensor:
    """log(1 + exp(-label * input)), the labels -1 and 1."""
    check_reduction(reduction, "soft_margin_loss")
    target = plain(torch.Tensor.to(label, input.dtype.torch))  # type: ignore[attr-defined]
    return reduced(torch.log(1 + torch.exp(-target * plain(input))), reduction)


@operation
def multi_margin_loss(
    input: torch.Tensor, label: torch.Tensor, p: int = 1, margin: float = 1.0, weight: torch.Tensor | None = None,
    reduction: str = "mean", name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """max(0, margin - score of the label + every other score) ** p over the number of classes."""
    check_reduction(reduction, "multi_margin_loss")
    scores, places = plain(input), plain(label).long().reshape(-1, 1)
    own = single(single(margin**p) / int(scores.shape[1]))
    short = single(margin) - scores.gather(1, places) + scores
    if weight is None:  # the gradient of relu at 0 is 0, as in Paddle; `clamp` has 1
        return reduced(torch.relu(short).pow(p).mean(1) - own, reduction)
    # [N] - [N, 1]: Paddle 2.6.2 broadcasts the weighted loss to [N, N] (recorded).
    factors = plain(weight)[places]
    return reduced(torch.relu(factors * short).pow(p).mean(1) - factors * own, reduction)


@operation
def multi_label_soft_margin_loss(
    input: torch.Tensor, label: torch.Tensor, weight: torch.Tensor | None = None, reduction: str = "mean",
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The mean over the classes of the binary cross entropy of scores."""
    check_reduction(reduction, "multi_label_soft_margin_loss")
    if list(input.shape) != list(label.shape):
        raise ValueError("The input and label should have same dimension,but received")
    factors = None if weight is None else plain(weight)
    return F.multilabel_soft_margin_loss(plain(input), plain(label), factors, reduction=reduction)


@operation
def triplet_margin_with_distance_loss(
    input: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor, distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean", name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """max(0, distance to the positive - distance to the negative + margin)."""
    check_reduction(reduction, "triplet_margin_with_distance_loss")
    if margin < 0:
        raise ValueError("The margin between positive samples and negative samples should be greater than 0.")
    distance = distance_function or (lambda a, b: F.pairwise_distance(plain(a), plain(b)))
    near, far = distance(input, positive), distance(input, negative)
    far = torch.minimum(far, distance(positive, negative)) if swap else far
    return reduced(torch.relu(near - far + margin), reduction)


def _codes(label: torch.Tensor, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The nodes on the way to each label through Paddle's complete tree, -1 after the way's end, and the turns there."""
    code, depth = label + classes, (2 * classes - 1).bit_length() - 1
    bits = torch.arange(depth)
    nodes = (code.unsqueeze(1) >> (bits + 1)) - 1
    return torch.where(nodes >= 0, nodes, -1), (code.unsqueeze(1) >> bits) & 1


@operation
def hsigmoid_loss(
    input: torch.Tensor, label: torch.Tensor, num_classes: int, weight: torch.Tensor, bias: torch.Tensor | None = None,
    path_table: torch.Tensor | None = None, path_code: torch.Tensor | None = None, is_sparse: bool = False,
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The loss of a tree of binary decisions, one sample a row, [N, 1].

    Args:
        input: [N, D].
        label: [N] or [N, 1].
        weight, bias: of each node, [num_classes - 1, D] and [num_classes - 1, 1].
        path_table, path_code: the nodes and the turns of each sample, [N, L], -1 after the end; a complete tree unless given.
    """
    if num_classes < 2:
        raise ValueError(f"Expected num_classes >= 2 (got {num_classes})")
    if path_table is None or path_code is None:
        nodes, turns = _codes(torch.flatten(plain(label)).to(torch.int64), num_classes)
    else:
        nodes, turns = plain(path_table).to(torch.int64), plain(path_code)
    kept = nodes >= 0
    places = torch.where(kept, nodes, 0)
    scores = torch.einsum("nd,nld->nl", plain(input), plain(weight)[places])
    if bias is not None:
        scores = scores + plain(bias).flatten()[places]
    # Paddle's own bound: a score of 100 costs 40 (recorded, 2.6.2).
    scores = torch.clamp(scores, -40.0, 40.0)
    # A threshold beyond the bound, so that every score goes through log(1 + exp(score)).
    losses = torch.nn.functional.softplus(scores, threshold=50.0) - turns * scores
    # The end of a short way counts as decisions of score 0, log(2) each (recorded, 2.6.2).
    return torch.sum(torch.where(kept, losses, math.log(2.0)), 1, keepdim=True)


@operation
def dice_loss(input: torch.Tensor, label: torch.Tensor, epsilon: float = 1e-5, name: str | None = None) -> torch.Tensor:
    """1 - twice the overlap over the sum, of class probabilities [N, ..., C] and class numbers [N, ..., 1]."""
    hot = F.one_hot(plain(label).squeeze(-1).long(), int(input.shape[-1])).to(plain(input).dtype)
    axes = list(range(1, input.ndim))
    overlap, total = (plain(input) * hot).sum(axes), plain(input).sum(axes) + hot.sum(axes)
    return (1 - overlap * 2 / (total + single(epsilon))).mean()


@operation
def npair_loss(
    anchor: torch.Tensor, positive: torch.Tensor, labels: torch.Tensor, l2_reg: float = 0.002
) -> torch.Tensor:
    """Cross entropy of similarities and equal labels, and a penalty for long vectors."""
    a, p, given = plain(anchor), plain(positive), plain(labels).reshape(-1, 1)
    alike = (given == given.T).to(a.dtype)
    shares = alike / alike.sum(1, keepdim=True)
    penalty = (a.square().sum(1).mean() + p.square().sum(1).mean()) * 0.25 * l2_reg
    return penalty - (shares * log_softmax(a @ p.T, -1)).sum(1).mean()


@operation
def sigmoid_focal_loss(
    logit: torch.Tensor, label: torch.Tensor, normalizer: torch.Tensor | None = None, alpha: float = 0.25,
    gamma: float = 2.0, reduction: str = "sum", name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """Binary cross entropy of scores, with less weight on correct ones."""
    check_reduction(reduction, "sigmoid_focal_loss")
    score, target = plain(logit), plain(label)
    chance = torch.sigmoid(score)
    wrong = chance + target - 2 * chance * target  # also for soft labels
    # The entropy has no gradient with respect to the label, the factors do (recorded, 2.6.2).
    loss = F.binary_cross_entropy_with_logits(score, target.detach(), reduction="none")
    loss = loss * (alpha * target + (1 - alpha) * (1 - target)) * wrong ** single(gamma)
    return reduced(loss if normalizer is None else loss / plain(normalizer), reduction)
