"""Parts of tensors by positions: gather, scatter, slice, unique ..."""

from typing import Any

import numpy as np
import torch

from ..base.errors import paddles
from ..framework.dtype import torch_dtype
from ..framework.kinds import DTypeLike, Operand, Shape
from .operation import as_sizes, as_torch, operation, row

__all__ = [
    "crop", "gather", "gather_nd", "index_add", "index_fill", "index_put", "masked_fill", "put_along_axis",
    "scatter", "scatter_nd", "scatter_nd_add", "slice", "strided_slice", "take_along_axis", "unique",
    "unique_consecutive",
]  # fmt: skip


@operation
def gather(x: torch.Tensor, index: torch.Tensor, axis: Any = None, name: str | None = None) -> torch.Tensor:
    """Slices of `x` along an axis (the first) at the positions `index`, a vector or a number.

    Raises:
        ValueError: if `index` does not hold integers.
        IndexError: for a position below 0 or beyond the axis.
    """
    if index.is_floating_point():
        raise ValueError(f"(InvalidArgument) gather(): index must be int32 or int64, got {index.dtype}")
    axis = 0 if axis is None else int(axis)
    positions = torch.Tensor.to(index, torch.int64)
    # Negative positions are refused here, as in 2.6.2 (recorded), though `index_put` counts them from the end.
    _in_range(positions, int(x.shape[axis]), "gather")
    out = torch.index_select(x, axis, torch.flatten(positions))
    # An index without axes takes its axis away (recorded, 2.6.2).
    return torch.squeeze(out, axis) if index.ndim == 0 else out


def _in_range(index: torch.Tensor, length: int, operation_name: str) -> None:
    if torch.Tensor.numel(index) and not (int(index.min()) >= 0 and int(index.max()) < length):
        found = f"got values from {int(index.min())} to {int(index.max())}"
        raise paddles(IndexError(f"(OutOfRange) {operation_name}(): index must be in [0, {length}), {found}"))


@operation
def gather_nd(x: torch.Tensor, index: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """`x` at the positions that the last axis of `index` names."""
    return torch.Tensor.__getitem__(x, tuple(torch.unbind(torch.Tensor.to(index, torch.int64), -1)))


@operation
def scatter(
    x: torch.Tensor, index: torch.Tensor, updates: torch.Tensor, overwrite: bool = True, name: str | None = None
) -> torch.Tensor:
    """`x` with rows `index` replaced by the rows of `updates`, or (overwrite=False) by the sum of the rows sent there."""
    rows = torch.flatten(torch.Tensor.to(index, torch.int64))
    _in_range(rows, int(x.shape[0]), "scatter")
    if overwrite:
        return torch.index_put(x, (rows,), updates)
    # The old rows do not take part: they are zeros before the updates are added (recorded, 2.6.2).
    return torch.index_add(torch.index_fill(x, 0, rows, 0), 0, rows, updates)


@operation
def scatter_nd_add(
    x: torch.Tensor, index: torch.Tensor, updates: torch.Tensor, name: str | None = None
) -> torch.Tensor:
    """`x` plus `updates` at the positions that the last axis of `index` names."""
    places = tuple(torch.unbind(torch.Tensor.to(index, torch.int64), -1))
    if torch.Tensor.numel(x) == 0:  # torch does not look at the positions
        for place, length in zip(places, list(x.shape), strict=False):
            _in_range(place, length, "scatter_nd_add")
    return torch.index_put(x, places, updates, accumulate=True)


@operation
def scatter_nd(index: torch.Tensor, updates: torch.Tensor, shape: Shape, name: str | None = None) -> torch.Tensor:
    """Zeros of `shape` plus `updates` at positions."""
    return scatter_nd_add(torch.zeros(as_sizes(shape), dtype=torch_dtype(updates.dtype)), index, updates)


@operation
def take_along_axis(arr: torch.Tensor, indices: torch.Tensor, axis: int, broadcast: bool = True) -> torch.Tensor:
    """Elements at positions along an axis."""
    return torch.take_along_dim(arr, torch.Tensor.to(indices, torch.int64), axis)


@operation
def put_along_axis(
    arr: torch.Tensor,
    indices: torch.Tensor,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> torch.Tensor:
    """`arr` with elements at positions along an axis set, added to or multiplied by `values`."""
    if broadcast:
        shape = list(arr.shape)
        shape[axis] = int(indices.shape[axis])
        indices = torch.Tensor.expand(indices, shape)
    indices = torch.Tensor.to(indices, torch.int64)
    values = torch.Tensor.expand(torch.Tensor.to(as_torch(values), torch_dtype(arr.dtype)), list(indices.shape))
    if reduce == "assign":
        return torch.scatter(arr, axis, indices, values)
    kind = {"add": "sum", "mul": "prod", "multiply": "prod", "amin": "amin", "amax": "amax", "mean": "mean"}.get(reduce)
    if kind is None:
        raise ValueError(f"put_along_axis: reduce must be assign, add, multiply, amin, amax or mean, got {reduce!r}")
    return torch.scatter_reduce(arr, axis, indices, values, kind, include_self=include_self)


def _index_add(x: torch.Tensor, index: torch.Tensor, axis: int, value: torch.Tensor) -> torch.Tensor:
    if index.numel() and x.ndim > axis and not x.shape[axis]:
        raise ValueError(f"(InvalidArgument) index_add(): axis {axis} has no elements, got an index into it")
    return torch.index_add(x, axis, index, value)


index_add = row(
    "index_add",
    lambda x, index, axis, value, name=None: _index_add(x, index, axis, value),
    "`x` with slices of `value` added at positions along an axis.",
)


@operation
def index_fill(x: torch.Tensor, index: torch.Tensor, axis: int, value: Any, name: str | None = None) -> torch.Tensor:
    """`x` with slices at positions along an axis filled."""
    return torch.index_fill(x, axis, torch.Tensor.to(index, torch.int64), value)


@operation
def index_put(
    x: torch.Tensor, indices: Any, value: torch.Tensor, accumulate: bool = False, name: str | None = None
) -> torch.Tensor:
    """`x` with elements at positions replaced by, or increased by, `value`."""
    return torch.index_put(x, tuple(indices), value, accumulate)


@operation
def masked_fill(x: torch.Tensor, mask: torch.Tensor, value: Operand, name: str | None = None) -> torch.Tensor:
    """`x` with `value` where the mask is true."""
    return torch.where(mask, torch.Tensor.to(as_torch(value), torch_dtype(x.dtype)), x)


@operation
def slice(input: torch.Tensor, axes: Any, starts: Any, ends: Any) -> torch.Tensor:
    """The part of `input` from starts[i] to ends[i] along axes[i]."""
    index: list[Any] = [np.s_[:]] * input.ndim
    for axis, start, end in zip(as_sizes(axes), as_sizes(starts), as_sizes(ends), strict=True):
        index[axis] = np.s_[start:end]
    return torch.Tensor.__getitem__(input, tuple(index))


@operation
def strided_slice(
    x: torch.Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None
) -> torch.Tensor:
    """The part of `x` from starts[i] to ends[i] along axes[i] in steps of strides[i]."""
    index: list[Any] = [np.s_[:]] * x.ndim
    for axis, start, end, step in zip(as_sizes(axes), as_sizes(starts), as_sizes(ends), as_sizes(strides), strict=True):
        index[axis] = np.s_[start:end:step]
    out = x[tuple(index)]
    return out.view_as(x) if out is x else out  # a step of the graph even if all elements are kept (recorded, 2.6.2)


@operation
def crop(x: torch.Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> torch.Tensor:
    """The part of `x` of `shape` that begins at `offsets`."""
    offsets = [0] * x.ndim if offsets is None else as_sizes(offsets)
    sizes = list(x.shape) if shape is None else as_sizes(shape)
    ends = [int(x.shape[axis]) if size == -1 else offsets[axis] + size for axis, size in enumerate(sizes)]
    return torch.clone(slice(x, list(range(x.ndim)), offsets, ends))


@operation
def unique(
    x: torch.Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Any:
    """The different elements in order, with their first positions, where each element went, and how many there are."""
    kind, x = torch_dtype(dtype), x.detach()  # no gradient in Paddle either
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=axis)
    out = [values]
    if return_index:
        flat = torch.flatten(inverse)
        first = torch.full([len(counts)], len(flat), dtype=torch.int64)
        out.append(first.scatter_reduce(0, flat, torch.arange(len(flat)), "amin").to(kind))
    if return_inverse:
        out.append((inverse if axis is not None else torch.flatten(inverse)).to(kind))
    if return_counts:
        out.append(counts.to(kind))
    return out[0] if len(out) == 1 else tuple(out)


@operation
def unique_consecutive(
    x: torch.Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Any:
    """The elements without consecutive repetitions."""
    out, inverse, counts = torch.unique_consecutive(x.detach(), True, True, axis)
    wanted = [torch.flatten(inverse)] * return_inverse + [counts] * return_counts
    return (out, *(each.to(torch_dtype(dtype)) for each in wanted)) if wanted else out
