"""Losses of sequences, of pairs and triples, of generative models and of large vocabularies."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from .. import backend
from ..backends._tensors import as_tensor
from ..types import VariableLike
from ..utils import argument, type_check
from ..variable import Variable, as_array
from ._rows import Tensor, Type, check_reduce, expect, function, one_dtype, real
from .activations import softplus
from .arithmetic import exp
from .joining import stack
from .reductions import average, sum

__all__ = [
    "argmax_crf1d", "bernoulli_nll", "connectionist_temporal_classification", "contrastive", "crf1d",
    "cross_covariance", "decov", "gaussian_kl_divergence", "gaussian_nll", "hinge", "negative_sampling", "triplet",
]  # fmt: skip


def fits(labels: Tensor, steps: Tensor, label_length: Tensor, n_steps: int) -> Tensor:
    """Whether each sequence [B] has a path: a step for each label, and a blank between two equal ones."""
    inside = torch.arange(1, labels.shape[1], device=labels.device) < label_length[:, None]
    repeats = ((labels[:, 1:] == labels[:, :-1]) & inside).sum(1)
    return (steps >= label_length + repeats) & (steps <= n_steps)


def has_logarithms(x: Tensor) -> Tensor:
    """Whether all probabilities [B] of the scores [T, B, N] are above zero: no NaN, and none so small that it is 0."""
    return (torch.softmax(x.detach(), 2) > 0).all(2).all(0)


class CTC(torch.autograd.Function):
    """The losses [B] of scores [T, B, N]; `apply(x, labels, steps, label_length, blank)`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, labels: Tensor, steps: Tensor, label_length: Tensor, blank: int
    ) -> Tensor:  # fmt: skip
        zero = -10000.0 if x.dtype is torch.float16 else -10000000000.0
        y = torch.softmax(x, 2)
        log_y = torch.where(y > 0, y.log(), zero)
        path = labels.new_full((len(labels), 2 * labels.shape[1] + 1), blank)
        path[:, 1::2] = labels
        path_length = 2 * label_length + 1
        ways = _ways(log_y, path % x.shape[2], path, steps, path_length, zero)
        total = _logsumexp(ways[0], 1)
        ctx.save_for_backward(y, ways, total, path % x.shape[2], path_length, steps)
        return -total

    @staticmethod
    def backward(ctx: Any, gy: Tensor) -> tuple[Any, ...]:
        y, ways, total, columns, path_length, steps = ctx.saved_tensors
        inside = torch.arange(columns.shape[1], device=y.device) < path_length[:, None]
        shares = torch.where(inside, (ways - total[:, None]).exp(), 0)
        occupied = torch.zeros_like(y).scatter_add_(2, columns.expand_as(shares), shares)
        counted = torch.arange(len(y), device=y.device)[:, None] < steps
        return (y - occupied) * gy[:, None] * counted[..., None], None, None, None, None


def _logsumexp(x: Tensor, dim: int) -> Tensor:
    largest = x.amax(dim, keepdim=True)
    return (largest + (x - largest).exp().sum(dim, keepdim=True).log()).squeeze(dim)


def _ways(log_y: Tensor, columns: Tensor, path: Tensor, steps: Tensor, lengths: Tensor, zero: float) -> Tensor:
    """The logarithms [T, B, P] of the probabilities of all ways through each step and place of the path."""
    batch = torch.arange(len(path), device=path.device)[:, None]
    shift = (torch.arange(path.shape[1], device=path.device) + lengths[:, None]) % path.shape[1]
    turn = (torch.arange(len(log_y), device=path.device)[:, None] + steps) % len(log_y)

    def flipped(ways: Tensor) -> Tensor:
        return ways[turn[:, :, None], batch[None], shift].flip(0, 2)

    sums = log_y.gather(2, columns.expand(len(log_y), *columns.shape))
    sums = _walk(log_y, columns, path, lengths, sums, zero)
    columns, path = (places[batch, shift].flip(1) for places in (columns, path))
    backwards = log_y[turn, batch[:, 0]].flip(0)
    return flipped(_walk(backwards, columns, path, lengths, flipped(sums), zero))


def _walk(log_y: Tensor, columns: Tensor, path: Tensor, lengths: Tensor, sums: Tensor, zero: float) -> Tensor:
    """`sums` plus the logarithms of the probabilities of all ways that lead to each step and place."""
    outside = torch.arange(path.shape[1], device=path.device) >= lengths[:, None]
    stays = path[:, 2:] == path[:, :-2]  # no way leads from a label past the blank to the same label
    before = log_y.new_full(path.shape, zero)
    before[:, 0] = 0
    results = []
    for y, total in zip(log_y, sums, strict=True):
        ways = log_y.new_full((3, *path.shape), zero)
        ways[0] = before
        ways[1, :, 1:] = before[:, :-1]
        ways[2, :, 2:] = before[:, :-2].masked_fill(stays, zero)
        before = _logsumexp(ways, 0).masked_fill(outside, zero)
        results.append(total + before)
        before = before + y.gather(1, columns)
    return torch.stack(results)


def _reduced(loss: Variable, reduce: str) -> Variable:
    return sum(loss) if reduce == "sum" else average(loss) if reduce == "mean" else loss


def gaussian_kl_divergence(mean: VariableLike, ln_var: VariableLike, reduce: str = "sum") -> Variable:
    """The divergence of normal distributions of this mean and logarithm of the variance from the standard one.

    Args:
        reduce: "sum", "mean" or "no"; otherwise ValueError.
    """
    check_reduce(reduce, ("sum", "mean", "no"))
    return _reduced((mean * mean + exp(ln_var) - ln_var - 1) * 0.5, reduce)


def bernoulli_nll(x: VariableLike, y: VariableLike, reduce: str = "sum") -> Variable:
    """The negative logarithm of the likelihood of x (0 or 1) with probabilities `sigmoid(y)`; see above for `reduce`."""
    check_reduce(reduce, ("sum", "mean", "no"))
    return _reduced(softplus(y) - x * y, reduce)


def gaussian_nll(x: VariableLike, mean: VariableLike, ln_var: VariableLike, reduce: str = "sum") -> Variable:
    """The negative logarithm of the likelihood of x with normal distributions; see `gaussian_kl_divergence`."""
    check_reduce(reduce, ("sum", "mean", "no"))
    difference = x - mean
    power = difference * difference * exp(-ln_var) * -0.5
    return _reduced((ln_var + math.log(2 * math.pi)) / 2 - power, reduce)


def _option(check: Callable[..., None]) -> Callable[..., tuple[Any, ...]]:
    def prepare(*options: Any) -> tuple[Any, ...]:
        check(*options)
        return options

    return prepare


def _scores_and_labels(node: object, x: Type, t: Type) -> None:
    expect(x.dtype.kind == "f", t.dtype.kind == "i", x.ndim == 2, t.ndim == 1, x.shape[0] == t.shape[0])


def _check_hinge(norm: str, reduce: str) -> None:
    if norm not in ("L1", "L2"):
        raise NotImplementedError(f"norm should be either 'L1' or 'L2', got {norm!r}")
    check_reduce(reduce)


@function("Hinge", _scores_and_labels, prepare=_option(_check_hinge))
def hinge(x: Tensor, t: Tensor, norm: str = "L1", reduce: str = "mean") -> Tensor:
    """The hinge loss of each class of x [B, N] against labels t [B], one class against the rest.

    Args:
        norm: "L1", or "L2" for the squared loss.
        reduce: "mean" for the sum divided by B, or "no" for [B, N].
    """
    # Labels are indices as NumPy's: a negative one counts from the last class (Chainer 7.8.1, recorded).
    sign = torch.ones_like(x).index_put_((torch.arange(len(x), device=x.device), t.long()), x.new_tensor(-1))
    loss = torch.relu(1 + sign * x)  # clamp has a gradient at 0, Chainer 7.8.1 none (recorded)
    loss = loss if norm == "L1" else loss.square()
    return loss.sum() / len(x) if reduce == "mean" else loss


def _rows_alike(node: object, x: Type, *others: Type) -> None:
    expect(x.ndim == 2, *[x.shape == other.shape for other in others])


def _check_margin(margin: float, reduce: str) -> None:
    if margin <= 0:
        raise ValueError("margin should be positive value.")
    check_reduce(reduce)


@function("Triplet", real, one_dtype, _rows_alike, prepare=_option(_check_margin))
def triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 0.2, reduce: str = "mean") -> Tensor:
    """`max(|a - p|^2 - |a - n|^2 + margin, 0)` of rows [B, N]; the mean, or with reduce="no" [B]."""
    distance = ((anchor - positive).square() - (anchor - negative).square()).sum(1) + margin
    loss = torch.relu(distance)
    return loss.sum() / len(anchor) if reduce == "mean" else loss


def _pairs_and_labels(node: object, x0: Type, x1: Type, y: Type) -> None:
    expect(x0.dtype.kind == "f", x0.dtype == x1.dtype, y.dtype.kind == "i", x0.shape == x1.shape)
    expect(x1.shape[0] == y.shape[0], x0.shape[0] > 0, x0.ndim == 2, x1.ndim == 2, y.ndim == 1)


@function("Contrastive", _pairs_and_labels, prepare=_option(_check_margin))
def contrastive(x0: Tensor, x1: Tensor, y: Tensor, margin: float = 1, reduce: str = "mean") -> Tensor:
    """The contrastive loss of pairs of rows [B, N]; y [B] is 1 for pairs that are alike, 0 for others (Hadsell et al., 2006)."""
    squares = (x0 - x1).square().sum(1)
    # The root's slope at 0 is infinite; equal rows get the gradient 0 (Chainer 7.8.1, seen).
    distance = torch.where(squares > 0, squares, 1).sqrt() * (squares > 0)
    loss = (y * squares + (1 - y) * (margin - distance).clamp(min=0).square()) * 0.5
    return loss.sum() / len(x0) if reduce == "mean" else loss


def _lengths_and_labels(node: object, x: Type, t: Type) -> None:
    type_check._argname((x, t), ("x", "t"))
    expect(t.ndim == 2, t.dtype == numpy.int32, x.ndim == 3, x.dtype.kind == "f", t.shape[0] == x.shape[1])


@function("ConnectionistTemporalClassification", _lengths_and_labels)
def _ctc(x: Tensor, t: Tensor, blank_symbol: int, input_length: Any, label_length: Any, reduce: str) -> Tensor:
    labels, steps, counts = (
        t.long(),
        as_tensor(input_length).long().to(t.device),
        as_tensor(label_length).long().to(t.device),
    )
    possible = fits(labels, steps, counts, len(x)) & has_logarithms(x)
    scores = x.masked_fill(~possible[:, None], 0)  # torch's gradient of a NaN is NaN, even times 0
    log_p = torch.log_softmax(scores.float() if x.dtype is torch.float16 else scores, 2)
    with_path = steps.clamp(max=len(x)), counts, blank_symbol
    loss = torch.nn.functional.ctc_loss(log_p, labels, *with_path, reduction="none", zero_infinity=True).to(x.dtype)
    if not bool(possible.all()):
        chosen = (~possible).nonzero()[:, 0]
        impossible = CTC.apply(x[:, chosen], labels[chosen], steps[chosen], counts[chosen], blank_symbol)
        loss = loss.masked_fill(~possible, 0).index_add(0, chosen, impossible)
    return loss.mean() if reduce == "mean" else loss


def connectionist_temporal_classification(
    x: VariableLike,
    t: VariableLike,
    blank_symbol: int,
    input_length: Any = None,
    label_length: Any = None,
    reduce: str = "mean",
) -> Variable:
    """The loss of label sequences without a known alignment (Graves et al., 2006).

    Args:
        x: list of steps [B, N] of scores, without a softmax.
        t: labels [B, L], int32.
        blank_symbol: the label that means no label.
        input_length, label_length: lengths [B], int32; all steps and all labels by default.
        reduce: "mean" over the batch, or "no" for [B].
    """
    if not isinstance(x, Sequence):
        raise TypeError("x must be a list of Variables")
    if not isinstance(blank_symbol, int):
        raise TypeError("blank_symbol must be non-negative integer.")
    if not (x[0].ndim == 2 and 0 <= blank_symbol < x[0].shape[1]):
        raise AssertionError(f"x must hold steps [B, N] with N above blank_symbol = {blank_symbol}, got {x[0].shape}")
    check_reduce(reduce)
    if input_length is None:
        input_length = numpy.full(len(x[0]), len(x), numpy.int32)
    if label_length is None:
        label_length = numpy.full(len(t), t.shape[1], numpy.int32)
    return _ctc(stack(x), t, blank_symbol, as_array(input_length), as_array(label_length), reduce)


def _scan(cost: Tensor, xs: Sequence[Tensor], join: Callable[[Tensor], Tensor]) -> Tensor:
    """Scores [B, K] of the last labels; `join` takes scores [B, K, K] of label pairs. Ended sequences keep theirs."""
    alpha = xs[0]
    for x in xs[1:]:
        batch = len(x)
        alpha = torch.cat((join(alpha[:batch].unsqueeze(2) + cost) + x, alpha[batch:]))
    return alpha


@function("CRF1d")
def _crf1d(inputs: Sequence[Tensor], ys: Sequence[Any], reduce: str) -> Tensor:
    cost, *xs = inputs
    labels = [as_tensor(as_array(y)).long() for y in ys]
    log_z = _scan(cost, xs, lambda scores: scores.logsumexp(1)).logsumexp(1)
    score = xs[0].gather(1, labels[0].unsqueeze(1)).squeeze(1)
    for x, y, previous in zip(xs[1:], labels[1:], labels, strict=False):
        batch = len(x)
        step = x.gather(1, y.unsqueeze(1)).squeeze(1) + cost[previous[:batch], y]
        score = torch.cat((score[:batch] + step, score[batch:]))
    loss = log_z - score
    return loss.sum() / len(xs[0]) if reduce == "mean" else loss


def crf1d(cost: VariableLike, xs: Sequence[VariableLike], ys: Sequence[Any], reduce: str = "mean") -> Variable:
    """The negative logarithm of the likelihood of label sequences in a linear chain (Lafferty et al., 2001).

    Args:
        cost: scores [K, K] of a label (row) before another.
        xs: time steps [B_t, K] of scores, B_t not increasing.
        ys: time steps [B_t] of labels.
        reduce: "mean" over the sequences, or "no" for [B].
    """
    check_reduce(reduce)
    if xs[0].shape[1] != cost.shape[0]:
        raise AssertionError(f"xs must be steps [B, {cost.shape[0]}] as cost is {cost.shape}, got {xs[0].shape}")
    return _crf1d([cost, *xs], ys, reduce)


@function("ArgmaxCRF1d")
def _argmax_crf1d(inputs: Sequence[Tensor], path: list[Any]) -> Tensor:
    cost, *xs = inputs
    pointers = []

    def join(scores: Tensor) -> Tensor:
        best, places = scores.max(1)
        pointers.append(places)
        return best

    score, labels = _scan(cost, xs, join).max(1)
    path.insert(0, labels[: len(xs[-1])])
    for x, places in zip(xs[-2::-1], reversed(pointers), strict=True):
        batch = len(places)
        labels = torch.cat((places.gather(1, labels[:batch].unsqueeze(1)).squeeze(1), labels[batch:]))
        path.insert(0, labels[: len(x)])
    return score


def argmax_crf1d(cost: VariableLike, xs: Sequence[VariableLike]) -> tuple[Variable, list[Any]]:
    """The scores [B] of the best label sequences, and these as time steps [B_t] (int32 arrays); see `crf1d`."""
    path: list[Tensor] = []
    score = _argmax_crf1d([cost, *xs], path)
    send = backend.get_device_from_array(as_array(xs[0])).send
    return score, [send(labels.int().cpu().numpy()) for labels in path]


def _squared(reduce: str = "half_squared_sum") -> tuple[str]:
    check_reduce(reduce, ("half_squared_sum", "no"))
    return (reduce,)


def _covariance(y: Tensor, z: Tensor) -> Tensor:
    # The biased covariance, divided by the number of rows (Chainer 7.8.1, seen).
    return (y - y.mean(0)).T @ (z - z.mean(0)) / len(y)


def _matrices(node: object, y: Type, z: Type) -> None:
    expect(y.dtype.kind == "f", y.dtype == z.dtype, y.ndim == 2, z.ndim == 2, y.shape[0] == z.shape[0])


@function("CrossCovariance", _matrices, prepare=_squared)
def cross_covariance(y: Tensor, z: Tensor, reduce: str = "half_squared_sum") -> Tensor:
    """Half the sum of the squares of the covariances of columns of y [B, M] and z [B, N], or with "no" these [M, N]."""
    covariance = _covariance(y, z)
    return covariance if reduce == "no" else covariance.square().sum() * 0.5


@function("DeCov", lambda node, h: expect(h.dtype.kind == "f", h.ndim == 2), prepare=_squared)
def decov(h: Tensor, reduce: str = "half_squared_sum") -> Tensor:
    """`cross_covariance` of the columns of h [B, N] with each other, without the diagonal."""
    covariance = _covariance(h, h)
    covariance = covariance - torch.diag(covariance.diagonal())
    return covariance if reduce == "no" else covariance.square().sum() * 0.5


def _words(node: object, x: Type, t: Type, w: Type) -> None:
    expect(x.dtype.kind == "f", x.ndim == 2, t.dtype == numpy.int32, t.ndim == 1, x.shape[0] == t.shape[0])
    expect(w.dtype == x.dtype, w.ndim == 2)


@function("NegativeSamplingFunction", _words)
def _negative_sampling(x: Tensor, t: Tensor, W: Tensor, samples: Any, reduce: str) -> Tensor:
    wide = torch.promote_types(x.dtype, torch.float32)
    scores = torch.einsum("ij,ikj->ik", x.to(wide), W.to(wide)[as_tensor(samples).long()])
    signs = torch.ones_like(scores)
    signs[:, 0] = -1
    loss = torch.logaddexp(signs * scores, torch.zeros_like(scores)).sum(1) * (t != -1)
    return (loss.sum() if reduce == "sum" else loss).to(x.dtype)


def negative_sampling(
    x: VariableLike, t: VariableLike, W: VariableLike, sampler: Callable[[tuple[int, int]], Any],
    sample_size: int, reduce: str = "sum", **kwargs: Any,
) -> Any:  # fmt: skip
    """The loss of words t [B] for vectors x [B, N] against `sample_size` other words each (Mikolov et al., 2013).

    Args:
        W: word vectors [V, N].
        sampler: gives an int array of words for a shape.
        reduce: "sum", or "no" for [B].
        return_samples: give (loss, samples), samples [B, 1 + sample_size] with t first.
    """
    (return_samples,) = argument.parse_kwargs(kwargs, ("return_samples", False))
    check_reduce(reduce, ("sum", "no"))
    samples = sampler((len(t), sample_size + 1))
    samples[:, 0] = as_array(t)
    loss = _negative_sampling(x, t, W, samples, reduce)
    return (loss, samples) if return_samples else loss
