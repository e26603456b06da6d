"""Operators that reduce axes: sums, extremes, norms, positions, and orderings along an axis."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..base import DtypeLike, MXNetError, Sizes, torch_dtype
from .arithmetic import whole_of
from .flat import flat, unchanging
from .registry import axes_of, one_axis, operator, truth


def _at_least_1d(value: Tensor) -> Tensor:
    """MXNet has no arrays without dimensions: a full reduction has shape (1,)."""
    return value.reshape(1) if value.dim() == 0 else value


def _register_reduction(names: tuple[str, ...], function: Callable[[Tensor, tuple[int, ...], bool], Tensor]) -> None:
    def compute(data: Tensor, axis: Sizes = None, keepdims: bool = False, exclude: bool = False) -> Tensor:
        axes = axes_of(axis, data.dim(), truth(exclude))
        # With `exclude` of all axes the elements do not change (MXNet 1.9.1, observed).
        if not axes:
            return data
        return _at_least_1d(function(data, axes, truth(keepdims)))

    operator(*names, copies=True)(compute)


def _sum(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return torch.sum(data, axes, keepdim=keepdims, dtype=data.dtype)


def _mean(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if data.dtype.is_floating_point:
        return torch.mean(data, axes, keepdim=keepdims)
    # The mean of the integers -3 and -4 is -3, truncated, in the array's dtype (MXNet 1.9.1, observed).
    return torch.mean(data.double(), axes, keepdim=keepdims).to(data.dtype)


def _product(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    for axis in sorted(axes, reverse=True):
        # torch.prod reduces one axis at a time. The last axis is first, so that the numbers of the other axes do not change.
        data = torch.prod(data, axis, keepdim=keepdims, dtype=data.dtype)
    return data


class _Extreme(torch.autograd.Function):
    """The largest or smallest elements. Each of several equal elements gets the whole gradient in MXNet, and a part of it in
    torch."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, axes: tuple[int, ...], largest: bool) -> Tensor:
        result = (torch.amax if largest else torch.amin)(data, axes, keepdim=True)
        ctx.save_for_backward(data, result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        data, result = ctx.saved_tensors
        return gradient * (data == result), None, None


def extreme(largest: bool) -> Callable[[Tensor, tuple[int, ...], bool], Tensor]:
    """The largest or smallest along axes."""

    def function(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
        if not axes:
            return data
        result = _Extreme.apply(data, axes, largest)
        return result if keepdims else result.squeeze(axes)

    return function


def _replacing_nan(value: float, function: Callable) -> Callable:
    return lambda data, axes, keepdims: function(data.masked_fill(data.isnan(), value), axes, keepdims)


_register_reduction(("sum", "sum_axis"), _sum)
_register_reduction(("mean",), _mean)
_register_reduction(("max", "max_axis"), extreme(True))
_register_reduction(("min", "min_axis"), extreme(False))
_register_reduction(("prod",), _product)
_register_reduction(("nansum",), _replacing_nan(0.0, _sum))
_register_reduction(("nanprod",), _replacing_nan(1.0, _product))


@operator("norm")
def _norm(
    data: Tensor, ord: int = 2, axis: Sizes = None, out_dtype: DtypeLike = None, keepdims: bool = False
) -> Tensor:
    axes = axes_of(axis, data.dim())
    if ord == 1:
        result = data.abs().sum(axes, keepdim=truth(keepdims))
    elif ord == 2:
        real = data if data.dtype.is_floating_point else data.double()
        result = torch.linalg.vector_norm(real, 2, axes, keepdim=truth(keepdims))
    else:
        raise MXNetError(f"norm: ord must be 1 or 2, got {ord!r}")
    result = _at_least_1d(result if result.dtype == data.dtype else whole_of(result, data.dtype))
    return result if out_dtype is None else result.to(torch_dtype(out_dtype))


def _positions(function: Callable[..., Tensor], data: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    """Positions as floats: argmax and similar functions return float32, or the integer dtype of their input, as in MXNet."""
    dtype = data.dtype
    if axis is None:
        found = function(data.reshape(-1), 0)
        found = found.reshape((1,) * data.dim()) if truth(keepdims) else found
    else:
        found = function(data, one_axis(int(axis), data.dim()), keepdim=truth(keepdims))
    # Over all axes the result has the shape (1,), not () (MXNet 1.9.1, recorded).
    return flat(_at_least_1d(found).to(dtype), data)


@operator("argmax")
def _argmax(data: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _positions(torch.argmax, data, axis, keepdims)


@operator("argmin")
def _argmin(data: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _positions(torch.argmin, data, axis, keepdims)


@operator("argmax_channel")
@unchanging
def _argmax_channel(data: Tensor) -> Tensor:
    return torch.argmax(data, 1).to(data.dtype)


@operator("moments", visible=2)
def _moments(data: Tensor, axes: Sizes = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    chosen = axes_of(axes, data.dim())
    if not data.is_floating_point():  # uses the truncated mean (MXNet 1.9.1, recorded)
        distances = data.double() - _mean(data, chosen, True)
        variance = distances.square().mean(chosen, keepdim=truth(keepdims)).to(data.dtype)
        return _at_least_1d(_mean(data, chosen, truth(keepdims))), _at_least_1d(variance)
    variance, mean = torch.var_mean(data, chosen, correction=0, keepdim=truth(keepdims))
    return _at_least_1d(mean), _at_least_1d(variance)


@operator("cumsum")
def _cumsum(a: Tensor, axis: int | None = None, dtype: DtypeLike = None) -> Tensor:
    kind = a.dtype if dtype is None else torch_dtype(dtype)
    return torch.cumsum(a.reshape(-1) if axis is None else a, 0 if axis is None else axis, dtype=kind)


@operator("L2Normalization")
def _l2_normalization(data: Tensor, eps: float = 1e-10, mode: str = "instance") -> Tensor:
    axes = {"instance": tuple(range(1, data.dim())), "channel": (1,), "spatial": tuple(range(2, data.dim()))}.get(mode)
    if axes is None:
        raise MXNetError(f"L2Normalization: mode must be instance, channel or spatial, got {mode!r}")
    # Not functional.normalize, where eps bounds the norm from below; in MXNet eps is added to the squares.
    return data / torch.sqrt((data * data).sum(axes, keepdim=True) + eps)


def _along(data: Tensor, axis: int | None) -> tuple[Tensor, int]:
    return (data.reshape(-1), 0) if axis is None else (data, one_axis(int(axis), data.dim()))


@operator("sort")
def _sort(data: Tensor, axis: int | None = -1, is_ascend: bool = True) -> Tensor:
    data, axis = _along(data, axis)
    # A stable sort, so that the positions of equal elements in argsort and topk are reproducible.
    return torch.sort(data, dim=axis, descending=not truth(is_ascend), stable=True).values


@operator("argsort")
@unchanging
def _argsort(data: Tensor, axis: int | None = -1, is_ascend: bool = True, dtype: DtypeLike = "float32") -> Tensor:
    data, axis = _along(data, axis)
    # float32 even for positions, as in MXNet 1.9.1 (observed). In MXNet more than 16 equal elements are not in a stable order.
    return torch.argsort(data, dim=axis, descending=not truth(is_ascend), stable=True).to(torch_dtype(dtype))


@operator("topk", visible=lambda attributes: 2 if attributes.get("ret_typ") == "both" else 1)
@unchanging
def _topk(
    data: Tensor,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: str = "indices",
    is_ascend: bool = False,
    dtype: DtypeLike = "float32",
) -> Tensor | tuple[Tensor, Tensor]:
    shape = data.shape
    data, axis = _along(data, axis)
    ordered, places = torch.sort(data, dim=axis, descending=not truth(is_ascend), stable=True)
    # 0 and negative numbers select all elements (MXNet 1.9.1, observed).
    count = k if k > 0 else data.shape[axis]
    if count > data.shape[axis]:
        raise MXNetError(f"topk: k must be at most {data.shape[axis]}, the size of axis {axis}, got {k}")
    values, places = ordered.narrow(axis, 0, count).contiguous(), places.narrow(axis, 0, count)
    if ret_typ == "mask":
        return torch.zeros_like(data).scatter(axis, places, 1).reshape(shape)
    if ret_typ == "value":
        return values
    positions = places.to(torch_dtype(dtype))
    if ret_typ == "both":
        return values, positions
    if ret_typ == "indices":
        return positions
    raise MXNetError(f"topk: ret_typ must be value, indices, mask or both, got {ret_typ!r}")
