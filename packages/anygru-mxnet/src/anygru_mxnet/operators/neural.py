"""Layers as operators: FullyConnected, Dropout, normalisations, and losses."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from anygru.extend import centred

from ..base import MXNetError, Sizes
from ..state import state
from .arithmetic import same_dtype
from .generator import generator
from .index import picked_places
from .random import drawn_by_torch, filled
from .registry import Operator, as_tuple, one_axis, operator, truth


def without_bias(attributes: Mapping[str, Any]) -> list[str]:
    return ["data", "weight"] if truth(attributes.get("no_bias", False)) else ["data", "weight", "bias"]


def bias_of(name: str, bias: Tensor | None, no_bias: Any) -> Tensor | None:
    if truth(no_bias):
        return None
    if bias is None:
        raise MXNetError(f"{name}: bias is missing; give a bias, or no_bias=True")
    return bias


def _with_statistics(attributes: Mapping[str, Any]) -> int:
    return 3 if truth(attributes.get("output_mean_var", False)) else 1


def _fully_connected_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    data, hidden = shapes[0], int(attributes["num_hidden"])
    if data is not None:
        flatten = truth(attributes.get("flatten", True))
        features = 1
        for size in data[1:] if flatten else data[-1:]:
            features *= size
        shapes = [data, (hidden, features), *shapes[2:]]
    return shapes[:2] + [(hidden,)] * (len(shapes) - 2)


@operator(
    "FullyConnected", inputs=3, demands=("num_hidden",), needs=without_bias, infer=_fully_connected_shapes, rows=True
)
def _fully_connected(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> Tensor:
    if data.dtype != weight.dtype:
        same_dtype(data, weight)
    if truth(flatten) and data.dim() != 2:
        data = data.reshape(data.shape[0], -1)
    if num_hidden is not None and weight.shape[0] != int(num_hidden):
        raise MXNetError(f"FullyConnected: weight must have num_hidden={num_hidden} rows, got {tuple(weight.shape)}")
    if data.shape[-1] != weight.shape[1]:
        raise MXNetError(
            f"FullyConnected: weight {tuple(weight.shape)} needs {weight.shape[1]} features, data has {data.shape[-1]}"
        )
    return functional.linear(data, weight, bias_of("FullyConnected", bias, no_bias))


@operator("Dropout", copies=True, hidden=1)
def _dropout(data: Tensor, p: float = 0.5, mode: str = "training", axes: Sizes = (), cudnn_off: bool = False) -> Tensor:
    acts = p != 0 and (state.training or mode == "always")
    if not 0 <= p <= 1 or (p == 1 and acts):
        # With p = 1 MXNet 1.9.1 returns NaN: it divides by 1 - p (observed).
        raise MXNetError(f"Dropout: p must be at least 0 and below 1, got {p}")
    if not acts:
        return data
    shared = as_tuple(axes or ())
    # A draw then holds for a whole axis.
    sizes = [1 if axis in shared else size for axis, size in enumerate(data.shape)]
    mask = torch.empty(sizes, dtype=data.dtype, device=data.device)
    if drawn_by_torch(mask):
        return data * functional.dropout(mask.fill_(1), p, True)
    if mask.device.type == "meta":
        return torch.empty_like(data)
    kept = np.float32(1 - p)
    kind = np.float32 if data.dtype is torch.float32 else np.float64
    drawn = generator.uniform(mask.numel(), kind).astype(np.float32) < kept
    return data * filled(mask, drawn * (np.float32(1) / kept))


def _per_channel(axis_default: int, count: int) -> Any:
    def infer(attributes: Mapping[str, Any], shapes: list) -> list:
        if shapes[0] is None:
            return shapes
        return [shapes[0], *[(shapes[0][int(attributes.get("axis", axis_default))],)] * (len(shapes) - 1)]

    return infer


def _along(vector: Tensor, axis: int, ndim: int) -> Tensor:
    return vector.reshape([-1 if a == axis else 1 for a in range(ndim)])


@operator(
    "LayerNorm",
    inputs=3,
    visible=_with_statistics,
    hidden=2,
    infer=_per_channel(-1, 2),
    output_names=("output", "mean", "std"),
)
def _layer_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, axis: int = -1, eps: float = 1e-5, output_mean_var: bool = False
) -> Tensor | tuple[Tensor, ...]:
    axis = one_axis(int(axis), data.dim())
    if axis == data.dim() - 1 and not truth(output_mean_var):
        return functional.layer_norm(centred(data, [-1]), (data.shape[-1],), gamma, beta, eps)
    variance, mean = torch.var_mean(data, axis, correction=0, keepdim=True)
    deviation = torch.sqrt(variance + eps)
    scaled = (data - mean) / deviation
    result = scaled * _along(gamma, axis, data.dim()) + _along(beta, axis, data.dim())
    return (result, mean, deviation) if truth(output_mean_var) else result


def _move_averages(result: Tensor, *averages: tuple[Tensor, Tensor], momentum: float) -> None:
    """Update the running averages with the statistics of a batch.

    Recorded from MXNet 1.9.1: on the CPU this happens once in each backward pass. With cuDNN it
    happens in the forward pass. `backward(train_mode=False)` does not change them.
    """
    passing = state.backward

    def move() -> None:
        for moving, seen in averages:
            # torch's momentum is the weight of the new value, MXNet's is the weight of the old value. The variance divides by n
            # (1 for the
            # values 1 and 3), in torch by n - 1 (1.9.1, observed).
            moving.data.mul_(momentum).add_(seen.detach(), alpha=1 - momentum)

    if result.is_cuda:
        move()
    elif result.requires_grad:
        result.register_hook(lambda gradient: move() if passing.training else None)


class _OrByAverages(torch.autograd.Function):
    """A BatchNorm in training, with its gradients.

    `backward(train_mode=False)` computes the gradients with the running averages (1.9.1, recorded).
    """

    @staticmethod
    def forward(
        ctx: Any, result: Tensor, data: Tensor, scale: Tensor, beta: Tensor, averages: tuple[Tensor, Tensor], eps: float
    ) -> Tensor:
        ctx.save_for_backward(data, scale, *averages)
        ctx.eps, ctx.passing, ctx.shape = eps, state.backward, beta.shape
        return result.view_as(result)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        if ctx.passing.training:
            return gradient, None, None, None, None, None
        data, scale, mean, variance = ctx.saved_tensors
        deviation = torch.sqrt(variance + ctx.eps)
        of_scale = (gradient * (data - mean) / deviation).sum_to_size(scale.shape)
        of_beta = gradient.sum_to_size(scale.shape).reshape(ctx.shape)
        return None, gradient * scale / deviation, of_scale, of_beta, None, None


@operator(
    "BatchNorm",
    inputs=5,
    visible=_with_statistics,
    hidden=2,
    auxiliary=("moving_mean", "moving_var"),
    infer=_per_channel(1, 4),
    output_names=("output", "mean", "var"),
    begins={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
)
def _batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Tensor | tuple[Tensor, ...]:
    axis = one_axis(int(axis), data.dim())
    others = tuple(a for a in range(data.dim()) if a != axis)
    if state.training and not truth(use_global_stats):
        variance, mean = torch.var_mean(data, others, correction=0)
    else:
        mean, variance = moving_mean, moving_var
    if truth(fix_gamma):
        gamma.data.fill_(1)  # the caller's array changes, so that a file contains ones (MXNet 1.9.1, recorded)
        gamma = gamma.detach()
    scale = _along(gamma, axis, data.dim())
    scaled = (data - _along(mean, axis, data.dim())) / torch.sqrt(_along(variance, axis, data.dim()) + eps)
    result = (scaled if truth(fix_gamma) else scaled * scale) + _along(beta, axis, data.dim())
    if mean is not moving_mean:
        _move_averages(result, (moving_mean, mean), (moving_var, variance), momentum=momentum)
        if result.requires_grad:
            averages = _along(moving_mean.detach(), axis, data.dim()), _along(moving_var.detach(), axis, data.dim())
            result = _OrByAverages.apply(result, data, scale, beta, averages, eps)
    # The third result is 1 divided by the deviation, although MXNet names it variance (recorded from 1.9.1).
    return (result, mean, torch.rsqrt(variance + eps)) if truth(output_mean_var) else result


@operator("InstanceNorm", inputs=3, infer=_per_channel(1, 2))
def _instance_norm(data: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-3) -> Tensor:
    scaled = torch.instance_norm(centred(data, range(2, data.dim())), None, None, None, None, True, 0.0, eps, False)
    return scaled * _along(gamma, 1, data.dim()) + _along(beta, 1, data.dim())


@operator(
    "GroupNorm",
    inputs=3,
    visible=_with_statistics,
    hidden=2,
    infer=lambda attributes, shapes: [shapes[0], *[(int(attributes.get("num_groups", 1)),)] * 2],
    output_names=("output", "mean", "std"),
)
def _group_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, num_groups: int = 1, eps: float = 1e-5, output_mean_var: bool = False
) -> Tensor | tuple[Tensor, ...]:
    if data.dim() < 3 or data.shape[1] % int(num_groups):
        raise MXNetError(
            f"GroupNorm: data must have three axes and channels for {num_groups} groups, got {tuple(data.shape)}"
        )
    # MXNet 1.9's gamma and beta have an element for each group, not for each channel (recorded).
    groups = data.reshape(data.shape[0], int(num_groups), -1)
    variance, mean = torch.var_mean(groups, 2, correction=0)
    deviation = torch.sqrt(variance + eps)
    scaled = (groups - mean[..., None]) / deviation[..., None]
    result = (scaled * _along(gamma, 1, 3) + _along(beta, 1, 3)).reshape(data.shape)
    return (result, mean, deviation) if truth(output_mean_var) else result


# The most elements in a block of rows, chosen to fit in the cache of a core.
_BLOCK = 1 << 17


class _PickedLogSoftmax(torch.autograd.Function):
    """`pick(log_softmax(scores), places)` over the second of two axes.

    The log probabilities of a large vocabulary take longer to write and read than to compute. This function stores neither all
    log probabilities nor the gradient of the pick, which is mostly zeros.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, places: Tensor) -> Tensor:
        picked = scores.new_empty(places.shape)
        for rows in _blocks(scores):
            torch.gather(torch.log_softmax(scores[rows], 1), 1, places[rows], out=picked[rows])
        ctx.save_for_backward(scores, places, picked)
        return picked

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        scores, places, picked = ctx.saved_tensors
        (gradient,) = gradients
        if torch.is_grad_enabled():  # for second derivatives
            return torch.zeros_like(scores).scatter(1, places, gradient) - torch.softmax(scores, 1) * gradient, None
        normalizer = scores.gather(1, places) - picked
        result, negative = torch.empty_like(scores), -gradient
        for rows in _blocks(scores):
            torch.sub(scores[rows], normalizer[rows], out=result[rows]).exp_().mul_(negative[rows])
        return result.scatter_add_(1, places, gradient), None


def _blocks(scores: Tensor) -> Iterator[slice]:
    many = max(1, _BLOCK // max(1, scores.shape[1]))
    return (slice(first, first + many) for first in range(0, scores.shape[0], many))


def picked_log_softmax(data: Tensor, index: Tensor, axis: int = -1) -> Tensor:
    """`pick(log_softmax(data), index)` with `keepdims`."""
    places = picked_places(data, index, one_axis(int(axis), data.dim()))
    scores, places = data.movedim(axis, -1), places.movedim(axis, -1)
    if not scores.is_floating_point() or scores.device.type == "meta":
        return torch.log_softmax(data, axis).gather(axis, places.movedim(-1, axis))
    rows = scores.reshape(-1, scores.shape[-1])
    return _PickedLogSoftmax.apply(rows, places.reshape(-1, 1)).reshape(places.shape).movedim(-1, axis)


PICKED_LOG_SOFTMAX = Operator("pick of log_softmax", picked_log_softmax, 2)


@operator("softmax_cross_entropy", inputs=2)
def _softmax_cross_entropy(data: Tensor, label: Tensor) -> Tensor:
    # The sum (not the mean) over the rows, in an array of shape (1,) (MXNet 1.9.1, observed).
    return functional.cross_entropy(data, label.long(), reduction="sum").reshape(1)


def _ctc_inputs(attributes: Mapping[str, Any]) -> list[str]:
    return ["data", "label", *(key for key in ("data_lengths", "label_lengths") if truth(attributes.get(f"use_{key}")))]


@operator("CTCLoss", "ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss", inputs=4, needs=_ctc_inputs)
def _ctc_loss(
    data: Tensor,
    label: Tensor,
    data_lengths: Tensor | None = None,
    label_lengths: Tensor | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: str = "first",
) -> Tensor:
    steps, batch, classes = data.shape
    if label.shape[1] > steps:
        raise MXNetError(f"CTCLoss: {label.shape[1]} labels are more than {steps} steps of data")
    if data.device.type == "meta":  # torch has no kernel for this case
        return data.new_empty(batch)
    # If 0 is the blank, labels end at the first 0. If the last class is the blank, they end at the first -1, and 0 is a class
    # (observed).
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    if truth(use_data_lengths) and data_lengths is not None:
        input_lengths = data_lengths.long()
    else:
        input_lengths = torch.full((batch,), steps, dtype=torch.int64, device=data.device)
    if truth(use_label_lengths):
        # Inputs are positional: without lengths of data, the lengths of labels are the third input.
        target_lengths = (label_lengths if label_lengths is not None else data_lengths).long()  # type: ignore[union-attr]
    else:
        target_lengths = ((label != padding).long().cumprod(1)).sum(1)
    label = label.long()
    # Two equal successive labels need a blank between them. If there are too few steps, the loss is 0 (MXNet 1.9.1, recorded).
    repeated = (label[:, 1:] == label[:, :-1]) & (
        torch.arange(1, label.shape[1], device=label.device) < target_lengths[:, None]
    )
    suffices = target_lengths + repeated.sum(1) <= input_lengths
    # MXNet's loss takes the input of a softmax, torch's loss takes log probabilities.
    scores = torch.log_softmax(data, -1)
    target_lengths = torch.where(suffices, target_lengths, 0)
    losses = functional.ctc_loss(scores, label.clamp(min=0), input_lengths, target_lengths, blank, "none")
    return torch.where(suffices, losses, 0)
