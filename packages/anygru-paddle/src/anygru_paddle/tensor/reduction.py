"""Sums, products, extremes and the like along axes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..base.errors import paddles
from ..framework.dtype import torch_dtype
from ..framework.kinds import Axis, DTypeLike
from .operation import as_axis, need_float, need_tensor, no_small, operation, plain, row

__all__ = [
    "all", "amax", "amin", "any", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "logcumsumexp",
    "logsumexp", "max", "min", "nanmean", "nansum", "prod", "sum",
]  # fmt: skip


def _axes(axis: Axis) -> Any:
    """A reduction's axis: an empty list means all axes."""
    axis = as_axis(axis)
    return None if axis == () else axis


@np.errstate(all="ignore")  # inf - inf is nan without a warning, as in Paddle
def _as_eigen(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """The sum of up to 8192 float32 numbers in the order of Paddle 2.6.2's CPU kernel, equal to the last bit (recorded).

    Sums two rows of eight in parallel, then across, and the last few numbers sequentially.
    """
    values = plain(x.detach()).contiguous().numpy().ravel()
    pairs, packets = len(values) // 16 * 16, len(values) // 8 * 8
    first, second = np.add.reduce(values[:pairs].reshape(-1, 2, 8), axis=0)
    row = first + values[pairs:packets] + second if packets > pairs else first + second
    row = row[:4] + row[4:]
    across, rest = (row[0] + row[2]) + (row[1] + row[3]), np.float32(0)
    for value in values[packets:]:
        rest += value
    total.detach().fill_(float(across + rest))
    return total


def _as_half(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """The sum of up to 1024 float16 numbers as Paddle 2.6.2 computes it on a CPU: in order, cut to float16 (recorded)."""
    found, mask = np.zeros(1, np.float32), np.int32(-(1 << 13))
    for value in plain(x.detach()).contiguous().numpy().ravel().astype(np.float32):
        found += value
        found.view(np.int32)[0] &= mask
    total.detach().fill_(float(found[0]))
    return total


@operation
def sum(
    x: torch.Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None
) -> torch.Tensor:
    """The sum along axes (all of them by default); of bools and int32 in int64."""
    wanted = (
        torch_dtype(dtype) if dtype is not None else (torch.int64 if x.dtype in (torch.bool, torch.int32) else None)
    )
    axis = _axes(axis)
    if wanted is not None and not wanted.is_floating_point and x.requires_grad:
        x = x.detach()
    out = torch.sum(x, dim=axis, keepdim=keepdim, dtype=wanted) if axis is not None else torch.sum(x, dtype=wanted)
    if axis is None and wanted is None and x.is_cpu and torch.Tensor.numel(x) > 2:
        # Beyond that Eigen adds the sums of halves, for which NumPy takes 12 to 40 times as long as torch; torch's last digit
        # may differ.
        if x.dtype == torch.float32 and torch.Tensor.numel(x) <= 8192:
            out = _as_eigen(x, out)
        elif x.dtype == torch.float16 and torch.Tensor.numel(x) <= 1024:
            out = _as_half(x, out)
    if axis is None and keepdim:
        out = torch.reshape(out, [1] * x.ndim)
    return out if wanted is not None else torch.Tensor.to(out, torch_dtype(x.dtype))


@operation
def nansum(
    x: torch.Tensor, axis: Axis = None, dtype: DTypeLike = None, keepdim: bool = False, name: str | None = None
) -> torch.Tensor:
    """The sum along axes, leaving out nan."""
    return torch.nansum(x, dim=_axes(axis), keepdim=keepdim, dtype=None if dtype is None else torch_dtype(dtype))


@operation
def nanmean(x: torch.Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
    """The mean along axes, leaving out nan; of integers the integer part of it."""
    no_small(x, "nanmean")
    if not x.is_floating_point():
        axes = tuple(range(x.ndim)) if _axes(axis) is None else _axes(axis)
        total = torch.sum(x, dim=axes, keepdim=keepdim)
        count = torch.sum(torch.ones_like(x), dim=axes, keepdim=keepdim)
        # Torch refuses integers; Paddle 2.6.2 divides them as integers (recorded).
        return torch.Tensor.to(torch.div(total, count, rounding_mode="trunc"), torch_dtype(x.dtype))
    return torch.nanmean(x, dim=_axes(axis), keepdim=keepdim)


@operation
def prod(
    x: torch.Tensor, axis: Axis = None, keepdim: bool = False, dtype: DTypeLike = None, name: str | None = None
) -> torch.Tensor:
    """The product along axes (all of them by default)."""
    if dtype is None:
        no_small(x, "prod")
    out = x if dtype is None else torch.Tensor.to(x, torch_dtype(dtype))
    kind = torch_dtype(out.dtype)
    axis = _axes(axis)
    rank = x.ndim or 1  # axis 0 of a number is allowed
    axes = range(x.ndim) if axis is None else sorted(a % rank for a in ([axis] if isinstance(axis, int) else axis))
    # torch.prod takes one axis; the last one first, so that the others keep their numbers.
    for each in reversed(list(axes)):
        # Products, and running sums below, keep the dtype of integers, where torch gives int64 (recorded, 2.6.2).
        out = torch.prod(out, dim=each, keepdim=keepdim, dtype=kind)
    return torch.clone(out) if out is x else out


def _extreme(name: str, compute: Callable[..., Any], what: str) -> Callable[..., Any]:
    def function(x: torch.Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
        need_tensor(x, "x", function.__name__)
        no_small(x, function.__name__)
        axis = _axes(axis)
        return compute(x, dim=() if axis is None else axis, keepdim=keepdim)

    return row(name, function, what)


_torch_shape = torch.Tensor.shape.__get__  # type: ignore[attr-defined]


class _Selected(torch.autograd.Function):
    """The largest or smallest element; each equal element gets the whole gradient, as in Paddle's max and min."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, compute: Callable[..., Any], dim: Any, keepdim: bool) -> torch.Tensor:
        out = compute(x, dim=dim, keepdim=keepdim)  # not a view, which would refuse changes in place
        ctx.save_for_backward(x, out)
        axes = (
            range(x.ndim)
            if dim == ()
            else [each % (x.ndim or 1) for each in (dim if isinstance(dim, tuple) else (dim,))]
        )
        ctx.shape = [1 if axis in axes else length for axis, length in enumerate(_torch_shape(x))]
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        x, out = ctx.saved_tensors
        best, grad = torch.reshape(out, ctx.shape), torch.reshape(grad, ctx.shape)
        return torch.mul(torch.eq(x, best), grad), None, None, None


def _selecting(compute: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: torch.Tensor, dim: Axis, keepdim: bool) -> torch.Tensor:
        if x.requires_grad and torch.is_grad_enabled():
            return _Selected.apply(x, compute, dim, keepdim)
        return compute(x, dim=dim, keepdim=keepdim)

    return reduce


max = _extreme("max", _selecting(torch.amax), "The largest element along axes (all by default).")
min = _extreme("min", _selecting(torch.amin), "The smallest element along axes (all by default).")
amax = _extreme("amax", torch.amax, "The largest element along axes; equal ones share the gradient.")
amin = _extreme("amin", torch.amin, "The smallest element along axes; equal ones share the gradient.")


def _truth(name: str, compute: Callable[..., Any], what: str) -> Callable[..., Any]:
    def function(x: torch.Tensor, axis: Axis = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
        axis = _axes(axis)
        out = compute(x) if axis is None else compute(x, dim=axis, keepdim=keepdim)
        # torch.all and torch.any of uint8 are uint8.
        out = torch.Tensor.to(out, torch.bool)
        return torch.reshape(out, [1] * x.ndim) if axis is None and keepdim else out

    return row(name, function, what)


all = _truth("all", torch.all, "Whether all elements along axes are true.")
any = _truth("any", torch.any, "Whether any element along axes is true.")


@operation
def count_nonzero(x: torch.Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
    """How many elements along axes are not zero."""
    axis = _axes(axis)
    return torch.sum(torch.ne(x, 0), dim=tuple(range(x.ndim)) if axis is None else axis, keepdim=keepdim)


@operation
def logsumexp(x: torch.Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> torch.Tensor:
    """log(sum(exp(x))) along axes (all by default)."""
    need_float(x, "logsumexp")
    axis = _axes(axis)
    return torch.logsumexp(x, dim=tuple(range(x.ndim)) if axis is None else axis, keepdim=keepdim)


def _running(x: torch.Tensor, axis: int | None, name: str) -> tuple[torch.Tensor, int]:
    need_tensor(x, "x", name)
    rank = x.ndim or 1
    if axis is not None and not -rank <= int(axis) < rank:
        message = f"{name}(): axis must be in [{-rank}, {rank}), got {axis}"
        if not x.ndim or name == "cumprod":  # another kernel, another error (recorded, 2.6.2)
            raise RuntimeError(message)
        raise paddles(IndexError(f"(OutOfRange) {message}"))
    return (torch.flatten(x), 0) if axis is None else (x, int(axis))


@operation
def cumsum(x: torch.Tensor, axis: int | None = None, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """The running sum along an axis; of the flattened tensor without one."""
    x, axis = _running(x, axis, "cumsum")
    wanted = torch_dtype(x.dtype if dtype is None else dtype)
    return torch.cumsum(x if wanted.is_floating_point else x.detach(), axis, dtype=wanted)


@operation
def cumprod(x: torch.Tensor, dim: int | None = None, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """The running product along an axis; unlike `cumsum` it needs an axis."""
    if dim is None:
        raise ValueError("(InvalidArgument) cumprod(): argument (position 2) must be int, but got NoneType")
    x, dim = _running(x, dim, "cumprod")
    return torch.cumprod(x, dim, dtype=torch_dtype(x.dtype if dtype is None else dtype))


@operation
def logcumsumexp(
    x: torch.Tensor, axis: int | None = None, dtype: DTypeLike = None, name: str | None = None
) -> torch.Tensor:
    """The running log-sum-exp along an axis."""
    need_float(x, "logcumsumexp")
    x, axis = _running(x, axis, "logcumsumexp")
    return torch.logcumsumexp(x if dtype is None else torch.Tensor.to(x, torch_dtype(dtype)), axis)


@operation
def cummax(x: torch.Tensor, axis: int | None = None, dtype: DTypeLike = "int64", name: str | None = None) -> Any:
    """The running maximum and its positions."""
    x, axis = _running(x, axis, "cummax")
    values, positions = torch.cummax(x, axis)
    return values, positions.to(torch_dtype(dtype))


@operation
def cummin(x: torch.Tensor, axis: int | None = None, dtype: DTypeLike = "int64", name: str | None = None) -> Any:
    """The running minimum and its positions."""
    x, axis = _running(x, axis, "cummin")
    values, positions = torch.cummin(x, axis)
    return values, positions.to(torch_dtype(dtype))
