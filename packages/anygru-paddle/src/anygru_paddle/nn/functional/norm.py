"""Normalization."""

from typing import Any

import torch

from anygru.extend import centred

from ...framework.dtype import single
from ...tensor.operation import need_float, operation, plain
from .window import CHANNELS_LAST, to_first, to_last

Maybe = torch.Tensor | None

__all__ = ["batch_norm", "instance_norm", "layer_norm", "local_response_norm"]


@operation
def layer_norm(
    x: torch.Tensor,
    normalized_shape: Any,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> torch.Tensor:
    """(x - mean) / sqrt(variance + epsilon) over the last axes, times weight, plus bias."""
    need_float(x, "layer_norm")
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if list(x.shape)[-len(shape) :] != shape:
        raise ValueError(
            f"Given normalized_shape is {shape}, expected input with shape [*, {str(shape)[1:]}, but got input shape "
            f"{list(x.shape)}"
        )
    weight = None if weight is None else torch.reshape(weight, shape)
    bias = None if bias is None else torch.reshape(bias, shape)
    return torch.layer_norm(centred(x, range(-len(shape), 0)), shape, weight, bias, single(epsilon))


def _together(weight: Maybe, bias: Maybe) -> tuple[Maybe, Maybe]:
    """Scale and bias; without gradients unless both have them, as in the kernels of 2.6.2 (recorded)."""
    # A program that is being recorded has no gradients yet: both stay unchanged.
    if weight is None or bias is None or weight.requires_grad != bias.requires_grad:
        return tuple(None if each is None else each.detach() for each in (weight, bias))  # type: ignore[return-value]
    return weight, bias


@operation
def batch_norm(
    x: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> torch.Tensor:
    """Normalization by the statistics of the batch (training) or the running ones.

    In training the running statistics become momentum * old + (1 - momentum) * the batch's (with the biased variance), in
    place. A batch with one element for each channel is returned unchanged, and so are the running statistics.
    """
    need_float(x, "batch_norm")
    momentum, epsilon = single(momentum), single(epsilon)
    # A given use_global_stats decides alone: False takes the batch, and moves the averages, even without training (Paddle
    # 2.6.2, recorded).
    by_batch = training if use_global_stats is None else not use_global_stats
    channels_last = data_format in CHANNELS_LAST and x.ndim > 2
    inner = to_first(x, channels_last)
    axes = [axis for axis in range(inner.ndim) if axis != 1]
    shape = [1, -1] + [1] * (inner.ndim - 2)
    weight, bias = _together(weight, bias)
    if by_batch and all(length == 1 for axis, length in enumerate(inner.shape) if axis != 1):
        # The kernels of 2.6.2 skip one element, which has no variance; the gradients of scale and bias are zeros (recorded).
        return x + sum(0 * each.sum() for each in (weight, bias) if each is not None)
    if by_batch:
        mean = torch.mean(inner, dim=axes)
        var = torch.var(inner, dim=axes, correction=0)
        # torch moves its average towards the unbiased variance; Paddle 2.6.2 takes the biased one (recorded).
        with torch.no_grad():
            for running, value in ((running_mean, mean), (running_var, var)):
                old = torch.Tensor.mul(running.detach(), momentum)
                torch.Tensor.copy_(running.detach(), torch.add(old, torch.mul(value.detach(), single(1 - momentum))))
    else:
        mean, var = running_mean, running_var
    out = torch.sub(inner, torch.reshape(mean, shape)) * torch.rsqrt(torch.add(torch.reshape(var, shape), epsilon))
    if weight is not None:
        out = torch.mul(out, torch.reshape(weight, shape))
    if bias is not None:
        out = torch.add(out, torch.reshape(bias, shape))
    return to_last(out, channels_last)


@operation
def group_norm(
    x: torch.Tensor,
    num_groups: int,
    epsilon: float = 1e-5,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> torch.Tensor:
    """Normalization of the channels [N, C, ...] in `num_groups` groups."""
    need_float(x, "group_norm")
    last = data_format in CHANNELS_LAST
    inner = to_first(x, last)
    groups = torch.reshape(inner, [len(x), num_groups, -1]) if inner.shape[1] % num_groups == 0 else inner
    inner = torch.reshape(centred(groups, [-1]), inner.shape)
    return to_last(torch.group_norm(inner, num_groups, weight, bias, single(epsilon)), last)


@operation
def instance_norm(
    x: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-5,
    data_format: str = "NCHW",
    name: str | None = None,
) -> torch.Tensor:
    """Normalization of every channel of every sample by itself; Paddle ignores the running statistics (read, 2.6)."""
    need_float(x, "instance_norm")
    # `data_format` is ignored in 2.6.2: axis 1 has the channels (recorded).
    weight, bias = _together(weight, bias)
    x = centred(x, range(2, x.ndim))
    return torch.instance_norm(x, weight, bias, None, None, True, single(momentum), single(eps), False)


@operation
def local_response_norm(
    x: torch.Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0, data_format: str = "NCHW",
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """Every value over (k + alpha * mean of the squares of its neighbours among the channels) ** beta."""
    need_float(x, "local_response_norm")
    if x.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input, but got {x.ndim} dimensions")
    last = data_format in CHANNELS_LAST
    inner = to_first(plain(x), last)
    # Paddle's window of an even size begins one channel earlier than torch's (recorded, 2.6.2).
    squares = torch.nn.functional.pad(inner.square().movedim(1, -1), (size // 2, (size - 1) // 2))
    mean = squares.unfold(-1, size, 1).mean(-1).movedim(-1, 1)
    return to_last(inner / (single(k) + alpha * mean) ** single(beta), last)
