"""Operators that make arrays of given values."""

import math

import torch
from torch import Tensor

from ..base import DtypeLike, MXNetError, Sizes, torch_dtype
from ..context import ContextLike, as_context
from .registry import as_tuple, operator, truth


@operator("_zeros", inputs=0)
def _zeros(shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None) -> Tensor:
    return _filled(shape, 0, ctx, dtype)


@operator("_ones", inputs=0)
def _ones(shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None) -> Tensor:
    return _filled(shape, 1, ctx, dtype)


@operator("_full", inputs=0)
def _full(shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None, value: float = 0.0) -> Tensor:
    return _filled(shape, value, ctx, dtype)


def _filled(shape: Sizes, value: float, ctx: ContextLike, dtype: DtypeLike) -> Tensor:
    sizes = tuple(int(n) for n in as_tuple(shape))
    return torch.full(sizes, value, dtype=torch_dtype(dtype), device=as_context(ctx).device)


@operator("_arange", inputs=0)
def _arange(
    start: float = 0,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: ContextLike = None,
    dtype: DtypeLike = None,
) -> Tensor:
    if stop is None:
        start, stop = 0, start
    count = math.ceil((stop - start) / step)
    if count <= 0:
        raise MXNetError(f"_arange: there is no number from {start} to {stop} in steps of {step}")
    kind = torch_dtype(dtype)
    if not kind.is_floating_point:  # start and step are truncated first: a step of 0.5 becomes 0 (1.9.1, recorded)
        start, step = int(start), int(step)
    # Float32 numbers are also computed in float64: three steps of 0.1 are 0.30000000000000004 (MXNet 1.9.1, observed).
    steps = torch.arange(count, dtype=torch.float64, device=as_context(ctx).device) * step + start
    return torch.repeat_interleave(steps.to(kind), int(repeat))


@operator("_linspace", inputs=0)
def _linspace(
    start: float,
    stop: float,
    step: float = 1.0,
    num: int = 50,
    endpoint: bool = True,
    ctx: ContextLike = None,
    dtype: DtypeLike = None,
) -> Tensor:
    count = num if truth(endpoint) else num + 1
    points = torch.linspace(start, stop, count, dtype=torch.float64, device=as_context(ctx).device)
    return points[:num].to(torch_dtype(dtype))


@operator("_eye", inputs=0)
def _eye(N: int, M: int = 0, k: int = 0, ctx: ContextLike = None, dtype: DtypeLike = None) -> Tensor:
    columns = M or N
    ones = torch.ones(N, columns, dtype=torch_dtype(dtype), device=as_context(ctx).device)
    return torch.triu(torch.tril(ones, k), k)


@operator("_contrib_arange_like", copies=True)
def _arange_like(
    data: Tensor,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: ContextLike = None,
    axis: int | None = None,
) -> Tensor:
    count = data.numel() if axis is None else data.shape[axis]
    steps = torch.arange(count, dtype=data.dtype, device=data.device) // repeat * step + start
    return steps.reshape(data.shape) if axis is None else steps
