"""`oneflow.nn.functional`: torch's functions, with OneFlow's arguments where torch has others."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor
from torch.nn import functional as _torch

from anygru.extend import centred

from ...framework.arithmetic import relu
from ...framework.dressing import dress, torch_dtype
from ...framework.generator import drawn, is_drawn_here
from ...framework.indexing import rows_or_zeros
from ...framework.tensor import Tensor
from ..modules.adopted import named, with_defaults
from ..modules.edges import cutting, widening
from ..modules.empty import average_pooled, each, interpolated, max_pooled, or_empty, unfolded

__all__ = [
    "affine_grid", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "cross_entropy",
    "ctc_greedy_decoder", "dropout", "elu", "embedding", "fold", "grid_sample", "gumbel_softmax", "hardsigmoid", "hardtanh",
    "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "max_pool1d", "max_pool2d", "max_pool3d", "mse_loss", "normalize", "one_hot", "relu", "relu6", "smooth_l1_loss",
    "sparse_softmax_cross_entropy", "triplet_margin_loss", "unfold",
]  # fmt: skip

Function = Callable[..., Any]


def _reducing(function: Function) -> Function:
    """A loss, which refuses an unknown reduction by OneFlow's class of exception."""

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for name in keywords.keys() & {"input", "target"}:
            torch_dtype(keywords[name])  # raises TypeError for other objects
        reduction = keywords.get("reduction", "mean")
        if reduction not in ("none", "mean", "sum", "batchmean"):
            raise RuntimeError(f"reduction must be none, sum or mean, got {reduction!r}")
        return function(*arguments, **keywords)

    return call


mse_loss = named(_reducing(_torch.mse_loss), "input target reduction")
l1_loss = named(_reducing(_torch.l1_loss), "input target reduction")
smooth_l1_loss = named(_reducing(_torch.smooth_l1_loss), "input target beta reduction")
binary_cross_entropy = named(_reducing(_torch.binary_cross_entropy), "input target weight reduction")
binary_cross_entropy_with_logits = named(
    _reducing(_torch.binary_cross_entropy_with_logits), "input target weight pos_weight reduction"
)


@wraps(_torch.kl_div)
def _kl_div(input: Tensor, target: Tensor, *, log_target: bool = False, reduction: str = "mean") -> Any:
    # Below 0 a probability counts as none in 0.9.0 (recorded), where torch gives NaN.
    return _torch.kl_div(
        input, target if log_target else target.clamp(min=0), reduction=reduction, log_target=log_target
    )


kl_div = named(_reducing(_kl_div), "input target log_target reduction")
affine_grid = with_defaults(_torch.affine_grid, align_corners=False)
grid_sample = with_defaults(_torch.grid_sample, align_corners=False)


# In 0.9.0 these functions have no defaults for their margins, slopes and limits (recorded); the layers have.


@wraps(_torch.layer_norm)
def layer_norm(input: Tensor, normalized_shape: Sequence[int], *others: Any, **named: Any) -> Any:
    return _torch.layer_norm(centred(input, range(-len(normalized_shape), 0)), normalized_shape, *others, **named)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    margin: float,
    p: float,
    eps: float,
    swap: bool,
    reduction: str,
) -> Any:
    """How much nearer the negative is than the positive, with the margin. The names are listed from three arguments on."""
    options = {"margin": margin, "p": p, "eps": eps, "swap": swap, "reduction": reduction}
    return _reducing(_torch.triplet_margin_loss)(anchor, positive, negative, **options)


def elu(input: Tensor, alpha: float) -> Any:
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere."""
    return _torch.elu(input, alpha)


def leaky_relu(input: Tensor, alpha: float, inplace: bool = False) -> Any:
    """`x` where it is positive, `alpha * x` elsewhere."""
    return _torch.leaky_relu(input, alpha, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Any:
    """`x` limited to the range from 0 to 6. As in 0.9.0 (recorded) the input never changes, even with `inplace`."""
    return _torch.relu6(input)


def hardtanh(input: Tensor, min_val: float, max_val: float) -> Any:
    """`x` between two limits."""
    return _torch.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Any:
    """`x / 6 + 0.5` between 0 and 1, twice differentiable."""
    # torch.hardsigmoid has no second derivative; 0.9.0's is 0 (recorded).
    result = _torch.relu6(input + 3) / 6
    return torch.Tensor.copy_(input, result) if inplace else result


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """`input @ weight.T + bias`; of one vector and a square matrix `input @ weight`.

    OneFlow 0.9.0 does not transpose a matrix if the input is a vector, and refuses a matrix that is not square (recorded).
    """
    if (
        isinstance(input, torch.Tensor)
        and input.dim() == 1
        and weight.dim() == 2
        and weight.shape[0] == weight.shape[1]
    ):
        product = torch.matmul(input, weight)
        return product if bias is None else product + bias
    return _torch.linear(input, weight, bias)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of the weight that the input names; without `padding_idx` zeros for places that are too large."""
    options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if padding_idx is not None or max_norm is not None:
        return _torch.embedding(input, weight, *options)
    return rows_or_zeros(lambda rows, places: _torch.embedding(places, rows, *options), weight, input)


def _channels_first(place: str, *tensors: Any) -> list[Any]:
    """Images and kernels with their channels moved behind the first dimension."""
    if place not in ("channels_first", "channels_last"):
        raise ValueError(f"channels are 'channels_first' or 'channels_last', got {place!r}")
    return [torch.movedim(value, -1, 1) for value in tensors] if place == "channels_last" else list(tensors)


def _as_they_were(place: str, result: Any) -> Any:
    """Results with their channels in the dimension of the input's channels."""
    return torch.movedim(result, 1, -1) if place == "channels_last" else result


def _numbers_only(name: str, padding: object) -> None:
    if isinstance(padding, str):  # the layers take words as well
        raise TypeError(f"{name}(): padding must be a whole number or several, got {padding!r}")


def _with_channels(function: Function, option: str, place: int) -> Function:
    """A function of images and kernels. Its last option is the dimension of their channels."""

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        where = arguments[place] if len(arguments) > place else keywords.pop(option, "channels_first")
        _numbers_only(function.__name__, arguments[4] if len(arguments) > 4 else keywords.get("padding"))
        if where == "channels_first":
            return function(*arguments[:place], **keywords)
        if function.__name__ in ("fold", "unfold"):
            raise ValueError(f"{function.__name__}(): the channels must come first; permute the input")
        images, kernels = _channels_first(where, *arguments[:2])
        return _as_they_were(where, function(images, kernels, *arguments[2:place], **keywords))

    return call


def _average_pooling(axes: int) -> Function:
    # torch refuses results without elements, which OneFlow 0.9.0 returns (recorded).
    function = cutting(or_empty(getattr(_torch, f"avg_pool{axes}d"), average_pooled(axes)), axes, 2)

    @wraps(function)
    def call(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int = 0,
        data_format: str = "channels_first",
    ) -> Any:
        (images,) = _channels_first(data_format, input)
        flags = bool(ceil_mode), bool(count_include_pad)
        if not divisor_override:
            return _as_they_were(data_format, function(images, kernel_size, stride, padding, *flags))
        if axes > 1:
            return _as_they_were(
                data_format, function(images, kernel_size, stride, padding, *flags, divisor_override=divisor_override)
            )
        # torch's of one dimension has no such option.
        sizes = ((1, kernel_size), (1, stride or kernel_size), (0, padding))
        kernel, step, pad = ((least, *each(value, 1)) for least, value in sizes)
        flat = _torch.avg_pool2d(images.unsqueeze(-2), kernel, step, pad, *flags, divisor_override)
        return _as_they_were(data_format, flat.squeeze(-2))

    return call


def _maximum_pooling(axes: int) -> Function:
    pool = getattr(_torch, f"max_pool{axes}d")
    function = cutting(or_empty(pool, max_pooled(axes), lambda *arguments: bool(arguments[6])), axes, 2)

    @wraps(function)
    def call(
        x: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "channels_first",
    ) -> Any:
        (images,) = _channels_first(data_format, x)
        found = function(images, kernel_size, stride, padding, dilation, bool(ceil_mode), bool(return_indices))
        values = _as_they_were(data_format, found[0] if return_indices else found)
        return (values, _as_they_were(data_format, found[1])) if return_indices else values

    return call


conv1d, conv2d, conv3d = (
    _with_channels(cutting(getattr(torch, f"conv{axes}d"), axes, 3), "channel_pos", 7) for axes in (1, 2, 3)
)
conv_transpose1d, conv_transpose2d, conv_transpose3d = (
    _with_channels(widening(getattr(torch, f"conv_transpose{axes}d"), axes), "data_format", 8) for axes in (1, 2, 3)
)
max_pool1d, max_pool2d, max_pool3d = map(_maximum_pooling, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(_average_pooling, (1, 2, 3))
interpolate = or_empty(_torch.interpolate, interpolated)
unfold = _with_channels(or_empty(_torch.unfold, unfolded), "data_format", 5)
fold = _with_channels(_torch.fold, "data_format", 6)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, use_l2_norm_kernel: bool = True) -> Any:
    """The tensor over its norm along a dimension.

    For p = 2, OneFlow 0.9.0 bounds the sum of squares by `eps`; for other p it bounds the norm, as torch always does
    (recorded).
    """
    if p != 2 or not use_l2_norm_kernel or not input.is_floating_point():
        return _torch.normalize(input, p, dim, eps)
    return torch.div(input, (input * input).sum(dim, keepdim=True).clamp(min=eps).sqrt())


def cosine_similarity(x: Tensor, y: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    """The product of two vectors divided by the product of their norms, at least `eps` (torch bounds each norm by it)."""
    if not (x.is_floating_point() or y.is_floating_point()):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x.dtype}")
    if x.shape != y.shape:
        x, y = torch.broadcast_tensors(x, y)
    squares = (x * x).sum(dim) * (y * y).sum(dim)
    return (x * y).sum(dim) / squares.clamp(min=eps * eps).sqrt()


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """As torch's; the labels may be of any integer type."""
    if reduction not in ("none", "mean", "sum"):
        raise RuntimeError(f"reduction must be none, sum or mean, got {reduction!r}")
    known = torch_dtype(target)
    labels = target if known.is_floating_point or known is torch.int64 else target.long()
    if not known.is_floating_point and labels.dim() == input.dim():  # a column of labels
        # 0.9.0 takes [N, 1] as [N] (recorded); torch would see probabilities of classes there.
        labels = labels.reshape(input.shape[0], *input.shape[2:])
    return _torch.cross_entropy(
        input, labels, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def sparse_softmax_cross_entropy(labels: Tensor, logits: Tensor) -> Any:
    """The cross entropy of each row."""
    return cross_entropy(logits, labels, reduction="none")


def dropout(
    x: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: torch.Generator | None = None,
    *,
    addend: Tensor | None = None,
) -> Any:
    """Zeros with probability p, and the rest scaled up; `addend` is added after that.

    Args:
        generator: the source of the draws, the default one if None.
    """
    if training and not 0 <= p <= 1:
        # The layer refuses it. A probability above 1 drops everything, and below 0 nothing (recorded in 0.9.0).
        kept = x * 0 if p > 1 else x / (1 - p)
    elif not training or p == 0 or isinstance(x, DTensor) or not is_drawn_here(x.device, generator):
        kept = _torch.dropout(x, p, bool(training))
    else:
        # OneFlow 0.9.0 keeps the elements that draw above p in float32, and scales by a float32 (recorded).
        kept = x * dress(drawn(generator, "kept", tuple(x.shape), p).to(torch_dtype(x)))
    if inplace:
        kept = torch.Tensor.copy_(x, kept)
    return kept if addend is None else kept + addend


def gumbel_softmax(x: Tensor, tau: float = 1.0, dim: int = -1, hard: bool = False) -> Any:
    """The softmax of the logits with noise of a Gumbel distribution; `hard` gives its maximum as one-hot."""
    if isinstance(x, DTensor) or not is_drawn_here(x.device):
        return _torch.gumbel_softmax(x, tau, hard, dim=dim)
    uniform = dress(drawn(None, "canonical", tuple(x.shape), np.float32).to(torch_dtype(x)))
    soft = _torch.softmax((x - (-(uniform + 1e-20).log() + 1e-20).log()) / tau, dim)
    if not hard:
        return soft
    peak = torch.zeros_like(soft).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return peak - soft.detach() + soft


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """As torch's, but it also trains on a single value a channel: it becomes zero, the running variance NaN (recorded).

    OneFlow 0.9.0 keeps `eps` and one minus the momentum as float32, for float64 as well (recorded).
    """
    if momentum is None:  # torch's average of all batches, which OneFlow has not
        raise TypeError("normalization(): momentum must be a float, got None")
    if weight is None or bias is None:  # 0.9.0 ignores one if the other is missing (recorded)
        weight = bias = None
    # Its kernel takes the share that remains, torch's the share that is new.
    changed, bound = 1 - float(np.float32(1 - momentum)), float(np.float32(eps))
    return torch.batch_norm(input, weight, bias, running_mean, running_var, bool(training), changed, bound, False)


def ctc_greedy_decoder(log_probs: Tensor, input_lengths: Tensor, merge_repeated: bool = True) -> tuple[Any, Any]:
    """The best label of each step, without blanks; blank is the last label.

    Args:
        log_probs: [T, B, labels].
        input_lengths: in steps, [B].
        merge_repeated: take a label once that several steps in a row have.

    Returns:
        The labels [B, T], filled up with zeros, and the negative sum of their log-probabilities [B, 1].
    """
    with torch.no_grad():
        best, labels = (part.transpose(0, 1) for part in log_probs.max(dim=2))
        steps = torch.arange(labels.shape[1], device=labels.device)
        kept = (there := steps < input_lengths.reshape(-1, 1)) & (labels != log_probs.shape[2] - 1)
        if merge_repeated:
            kept = kept & torch.cat([kept[:, :1] | True, labels[:, 1:] != labels[:, :-1]], dim=1)
        decoded = torch.zeros_like(labels)
        for row, (values, mask) in enumerate(zip(labels, kept, strict=True)):
            found = values[mask.bool()]
            decoded[row, : len(found)] = found
        return dress(decoded), dress(-(best * there).sum(dim=1, keepdim=True))


def one_hot(input: Tensor, num_classes: int = -1, on_value: Any = 1, off_value: Any = 0) -> Any:
    """Rows of off_value with on_value at the label."""
    if torch_dtype(input).is_floating_point:
        raise RuntimeError(f"one_hot takes whole numbers, got {input.dtype}")
    rows = _torch.one_hot(input.long(), num_classes)
    if (on_value, off_value) == (1, 0):
        return dress(rows)
    return dress(rows * (on_value - off_value) + off_value)
