"""The CTC loss of label sequences that no path has, with Chainer's finite numbers.

Where the labels need more steps than there are, or a score is NaN, torch's loss is infinite or NaN. Chainer 7.8.1
(`functions/loss/ctc.py`, read and recorded) takes -1e10 for the logarithm of zero and of NaN (`numpy.ma.log`, filled), so
that the loss is some 1e10 and most of the gradient finite. Both depend on the order of its sums, which is kept here.
"""

from typing import Any

import torch

Tensor = torch.Tensor


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
