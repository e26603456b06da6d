"""Normalization: of batches (Ioffe and Szegedy, 2015, https://arxiv.org/abs/1502.03167), of rows and of vectors."""

from typing import Any

import torch

from anygru.extend import centred

from .._torch_function import TorchFunction
from ..backends._tensors import as_array
from ..types import VariableLike
from ..utils import argument, type_check
from ..variable import Variable
from ..variable import as_array as array_of
from ._rows import Tensor, Type, as_axes, check_axes, expect, function, real

__all__ = [
    "batch_normalization", "fixed_batch_normalization", "group_normalization", "layer_normalization",
    "local_response_normalization", "normalize",
]  # fmt: skip


def batch_axes(ndim: int, n_kept: int, axis: tuple[int, ...] | None) -> tuple[int, ...]:
    """The axes that are averaged over: `axis`, or the first one and all after the `n_kept` channel axes."""
    return (0, *range(n_kept + 1, ndim)) if axis is None else axis


def _check_parameters(x: VariableLike, gamma: VariableLike, axis: tuple[int, ...] | None) -> None:
    ndim, n_kept = type_check.eval(x.ndim), type_check.eval(gamma.ndim)
    averaged = batch_axes(ndim, n_kept, axis)
    expect(x.ndim >= len(averaged))
    kept = [a for a in range(ndim) if a not in averaged]
    expect(gamma.ndim == len(kept))
    for i, a in enumerate(kept):
        expect(x.shape[a] == gamma.shape[i])


def _normalize(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, var: Tensor, axes: Any, eps: float) -> Tensor:
    """`gamma * (x - mean) / sqrt(var + eps) + beta` in gamma's dtype; every argument except x lacks `axes`."""
    shape = [1 if a in axes else size for a, size in enumerate(x.shape)]
    gamma, beta, mean, var = (v.reshape(shape) for v in (gamma, beta, mean, var))
    return (gamma * ((x.to(gamma.dtype) - mean) * torch.rsqrt(var + eps)) + beta).to(x.dtype)


def _single(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Half precision as single: in it the derivative of `1 / sqrt(var)` overflows where a variance is zero."""
    return tuple(v.float() if v.dtype is torch.float16 else v for v in tensors)


class BatchNormalization(TorchFunction):
    """Normalization by the statistics of the batch, which it stores in `mean` and `var` for running averages."""

    mean: VariableLike = None
    var: VariableLike = None

    def __init__(self, eps: float = 2e-5, axis: int | tuple[int, ...] | None = None) -> None:
        self.eps = eps
        self.axis = as_axes(axis)

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() == 3)
        x, gamma, beta = in_types
        expect(x.dtype.kind == "f", gamma.dtype.kind == "f", gamma.dtype == beta.dtype, gamma.shape == beta.shape)
        _check_parameters(x, gamma, self.axis)

    def compute(self, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:  # type: ignore[override]
        axes = batch_axes(x.ndim, gamma.ndim, self.axis)
        kept = gamma.dtype
        gamma, beta = _single(gamma, beta)
        wide = x.to(gamma.dtype)
        # torch averages over all axes if the tuple is empty.
        mean, var = (wide.mean(axes), wide.var(axes, correction=0)) if axes else (wide, torch.zeros_like(wide))
        self.mean, self.var = as_array(mean.detach().to(kept)), as_array(var.detach().to(kept))
        return _normalize(x, gamma, beta, mean, var, axes, self.eps)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self._leaves[0].numel():  # as in Chainer 7.8.1 (recorded)
            raise ZeroDivisionError("the gradient of batch normalization needs at least one element in the batch")
        return super().backward(target_input_indexes, grad_outputs)


class FixedBatchNormalization(TorchFunction):
    """Normalization by given statistics."""

    gradient_inputs = (0, 1, 3, 4)

    def __init__(self, eps: float = 2e-5, axis: int | tuple[int, ...] | None = None) -> None:
        self.eps = eps
        self.axis = as_axes(axis)

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() == 5)
        x, gamma, *others = in_types
        expect(x.dtype.kind == "f", gamma.dtype.kind == "f")
        for other in others:
            expect(other.dtype == gamma.dtype, other.shape == gamma.shape)
        _check_parameters(x, gamma, self.axis)

    def compute(self, x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, var: Tensor) -> Tensor:  # type: ignore[override]
        return _normalize(x, gamma, beta, mean, var, batch_axes(x.ndim, gamma.ndim, self.axis), self.eps)


def batch_normalization(x: VariableLike, gamma: VariableLike, beta: VariableLike, **kwargs: Any) -> Variable:
    """x normalized by mean and variance over the batch, times gamma, plus beta.

    Args:
        x: [B, C, ...].
        gamma, beta: [C], or the shape of all axes of x that are not averaged over.
        eps: added to the variance, 2e-5 by default.
        running_mean, running_var: arrays that are updated in place: `decay * old + (1 - decay) * new`, with the
        unbiased variance.
        decay: 0.9 by default.
        axis: the axes that are averaged over; by default the axes without gamma, which begins at axis 1.

    Raises:
        InvalidType: sizes or dtypes do not fit. ValueError: a keyword of an earlier release.
    """
    eps, running_mean, running_var, decay, axis = argument.parse_kwargs(
        kwargs,
        ("eps", 2e-5),
        ("running_mean", None),
        ("running_var", None),
        ("decay", 0.9),
        ("axis", None),
        train="train argument is not supported anymore. Use chainer.using_config",
    )
    function = BatchNormalization(eps, axis)
    y = function.apply((x, gamma, beta))[0]
    if running_mean is not None:
        n = array_of(x).size // array_of(gamma).size
        _move_average(running_mean, function.mean, decay)
        # The factor of a batch with one element is 1, and its variance 0 (Chainer 7.8.1, `batch_normalization.py`,
        # read).
        _move_average(running_var, function.var * (n / max(n - 1.0, 1.0)), decay)
    return y


def _move_average(running: Any, new: Any, decay: float) -> None:
    running *= decay
    running += new * (1 - decay)


def fixed_batch_normalization(
    x: VariableLike,
    gamma: VariableLike,
    beta: VariableLike,
    mean: VariableLike,
    var: VariableLike,
    eps: float = 2e-5,
    axis: int | tuple[int, ...] | None = None,
) -> Variable:
    """`gamma * (x - mean) / sqrt(var + eps) + beta` with all of gamma's shape; see `batch_normalization`."""
    return FixedBatchNormalization(eps, axis).apply((x, gamma, beta, mean, var))[0]


def _rows_and_gains(node: object, x: Type, gamma: Type, beta: Type) -> None:
    expect(x.dtype.kind == "f", x.ndim == 2, gamma.ndim == 1, beta.ndim == 1)
    expect(gamma.dtype == x.dtype, beta.dtype == x.dtype, gamma.shape == beta.shape)


@function("LayerNormalization", _rows_and_gains)
def layer_normalization(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """`gamma * (x - mean) / sqrt(var + eps) + beta` for each row of x [B, N] (Ba et al., 2016); gamma, beta [N]."""
    if gamma.shape != x.shape[1:]:
        raise ValueError(f"gamma must have the shape {tuple(x.shape[1:])} of a row of x, got {tuple(gamma.shape)}")
    return torch.nn.functional.layer_norm(centred(x, [1]), x.shape[1:], gamma, beta, eps)


@function("NormalizeL2", real, prepare=lambda eps, axis: (eps, (axis,) if isinstance(axis, int) else axis))
def normalize(x: Tensor, eps: float = 1e-5, axis: tuple[int, ...] | int | None = 1) -> Tensor:
    """`x / (norm(x) + eps)` with the L2 norm along an axis or several (a tuple), or along all (None)."""
    check_axes((axis,) if isinstance(axis, int) else axis or (), x.ndim)
    norm = torch.linalg.vector_norm(x, dim=axis, keepdim=True) if axis != () else x.abs()
    # eps is added (Chainer 7.8.1, `l2_normalization.py`, read); torch's `normalize` takes the larger of eps and the norm.
    return x / (norm + eps)


def _channels(node: Any, x: Type, gamma: Type, beta: Type) -> None:
    expect(x.dtype.kind == "f", x.ndim >= 2, gamma.ndim == 1, beta.ndim == 1)
    expect(gamma.shape[0] == x.shape[1], beta.shape[0] == x.shape[1])


@function("GroupNormalization", _channels)
def _group_normalization(x: Tensor, gamma: Tensor, beta: Tensor, groups: int, eps: float) -> Tensor:
    gamma, beta = gamma.to(x.dtype), beta.to(x.dtype)
    rows = centred(x.reshape(len(x), groups, -1), [-1]).reshape(x.shape)
    return torch.group_norm(rows, groups, gamma, beta, eps)  # in torch.nn.functional it refuses groups of one element


def group_normalization(
    x: VariableLike, groups: int, gamma: VariableLike, beta: VariableLike, eps: float = 1e-5
) -> Variable:
    """x [B, C, ...] normalized in groups of channels, times gamma [C], plus beta [C] (Wu and He, 2018)."""
    if x.ndim >= 2 and groups > 0 and x.shape[1] % groups:
        raise ValueError(f"The number of channels {x.shape[1]} is not divisible by 'groups' argument {groups}.")
    return _group_normalization(x, gamma, beta, groups, eps)


@function("LocalResponseNormalization", real, lambda node, x: expect(x.ndim >= 2))
def local_response_normalization(
    x: Tensor, n: int = 5, k: float = 2, alpha: float = 1e-4, beta: float = 0.75
) -> Tensor:
    """x [B, C, ...] divided by `(k + alpha * sum(x^2))^beta`, with the sum over n neighbouring channels."""
    (wide,) = _single(x)  # torch has no such mean of half precision on the CPU
    n = n // 2 * 2 + 1  # the same number of channels on both sides (Chainer 7.8.1, recorded)
    # torch divides alpha by n, Chainer does not: of three ones with alpha = 3 the middle one is 1 / 10 (7.8.1, seen).
    # Chainer also accepts rows; torch requires an axis behind the channels.
    y = torch.nn.functional.local_response_norm(wide.reshape(*x.shape[:2], -1), n, alpha * n, beta, k)
    return y.reshape(x.shape).to(x.dtype)
