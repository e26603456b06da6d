"""Changing the form of tensors: cast, reshape, concat, split, gather ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..base.errors import paddles
from ..framework.dtype import as_dtype, torch_dtype
from ..framework.kinds import Axis, DTypeLike, Operand, Shape
from .operation import as_axis, as_sizes, as_torch, need_same_dtype, need_tensor, operation, to_dtype

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "as_complex", "as_real", "as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors",
    "broadcast_to", "cast", "chunk", "concat", "crop", "expand", "expand_as", "flatten", "flip", "gather",
    "gather_nd", "index_add", "index_fill", "index_put", "masked_fill", "moveaxis", "put_along_axis",
    "repeat_interleave", "reshape", "reverse", "roll", "rot90", "scatter", "scatter_nd", "scatter_nd_add", "slice",
    "split", "squeeze", "stack", "strided_slice", "take_along_axis", "tensordot", "tile", "tolist", "transpose",
    "unbind", "unflatten", "unfold", "unique", "unique_consecutive", "unsqueeze", "unstack", "view", "view_as",
    "vsplit",
]  # fmt: skip


@operation
def cast(x: torch.Tensor, dtype: DTypeLike) -> torch.Tensor:
    """`x` in another dtype; a copy, unless the dtype is the same."""
    need_tensor(x, "x", "cast")
    wanted = torch_dtype(dtype)
    return torch.clone(x) if x.dtype == as_dtype(wanted) else to_dtype(x, wanted)


def _reshaped(x: torch.Tensor, shape: Shape) -> list[int]:
    """A shape with its zeros replaced by the lengths of `x` at the same places."""
    sizes = as_sizes(shape)
    if 0 in sizes and torch.Tensor.numel(x) > 0:
        for axis, size in enumerate(sizes):
            if size == 0:
                if axis >= x.ndim:
                    raise ValueError(f"(InvalidArgument) reshape(): shape[{axis}] is 0 but x has {x.ndim} axes")
                sizes[axis] = int(x.shape[axis])
    return sizes


@operation
def reshape(x: torch.Tensor, shape: Shape, name: str | None = None) -> torch.Tensor:
    """`x` in another shape: one length may be -1 (what is left), 0 means the length that `x` has there."""
    need_tensor(x, "x", "reshape")
    if not isinstance(shape, (list, tuple, torch.Tensor)):
        raise ValueError(
            f"(InvalidArgument) reshape(): shape must be a list, a tuple or a Tensor, got {type(shape).__name__}"
        )
    return torch.reshape(x, _reshaped(x, shape))


@operation
def transpose(x: torch.Tensor, perm: Sequence[int], name: str | None = None) -> torch.Tensor:
    """The axes of `x` in the order `perm`."""
    need_tensor(x, "x", "transpose")
    if isinstance(perm, int):
        raise ValueError(f"(InvalidArgument) transpose(): perm must be a list of {x.ndim} axes, but got {perm}")
    return torch.permute(x, as_sizes(perm))


@operation
def concat(x: Any, axis: Any = 0, name: str | None = None) -> torch.Tensor:
    """Tensors of one dtype joined along an axis that they have."""
    if isinstance(x, torch.Tensor) or not isinstance(x, (list, tuple)):
        raise ValueError(
            f"(InvalidArgument) concat(): argument 'x' (position 0) must be list of Tensors, but got {type(x).__name__}"
        )
    tensors = [as_torch(each) for each in x]
    for number, each in enumerate(tensors):
        if each.dtype != tensors[0].dtype:
            raise ValueError(
                "(InvalidArgument) The data_type of input tensor in list isn't consistent, the first tensor is "
                f"{tensors[0].dtype}, but {number}th tensor is {each.dtype}."
            )
    return torch.cat(tensors, int(axis))


@operation
def stack(x: Any, axis: int = 0, name: str | None = None) -> torch.Tensor:
    """Tensors of one shape and dtype joined along a new axis."""
    if isinstance(x, torch.Tensor):
        return torch.unsqueeze(x, axis)
    tensors = list(x)
    for each in tensors[1:]:
        need_same_dtype(tensors[0], each, "stack")
    return torch.stack(tensors, axis)


@operation
def split(x: torch.Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[torch.Tensor]:
    """`x` cut along an axis into equal parts, or into parts of given lengths (one may be -1)."""
    need_tensor(x, "x", "split")
    axis = int(axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"(InvalidArgument) split(): axis must be in [{-x.ndim}, {x.ndim}), got {axis}")
    length = int(x.shape[axis])
    if isinstance(num_or_sections, (list, tuple)):
        sections = as_sizes(num_or_sections)
        if sections.count(-1) == 1:
            sections[sections.index(-1)] = length - sum(each for each in sections if each != -1)
        if sum(sections) != length or min(sections, default=0) < 0:
            raise ValueError(f"(InvalidArgument) split(): sections {list(num_or_sections)} do not sum to {length}")
        return list(torch.Tensor.split(x, sections, axis))
    if not isinstance(num_or_sections, int):
        kind = type(num_or_sections)
        raise paddles(
            TypeError(f"The type of 'num_or_sections' in split must be int, list or tuple, but received {kind}.")
        )
    if num_or_sections <= 0 or length % num_or_sections:
        raise ValueError(
            f"(InvalidArgument) split(): an axis of {length} elements cannot be split into {num_or_sections} equal parts"
        )
    return list(torch.Tensor.split(x, length // num_or_sections or 1, axis))


@operation
def chunk(x: torch.Tensor, chunks: int, axis: Axis = 0, name: str | None = None) -> list[torch.Tensor]:
    """`x` cut along an axis into `chunks` equal parts."""
    return split(x, chunks, axis)


@operation
def vsplit(x: torch.Tensor, num_or_sections: Any, name: str | None = None) -> list[torch.Tensor]:
    """`split` along the first axis of a tensor of two or more."""
    if x.ndim < 2:
        raise ValueError(f"The input tensor's dimension must be greater than 1, but got {x.ndim}")
    return split(x, num_or_sections, 0)


@operation
def unstack(x: torch.Tensor, axis: int = 0, num: int | None = None) -> list[torch.Tensor]:
    """The slices along an axis, without it."""
    if num is not None and num != int(x.shape[axis]):
        raise ValueError(f"(InvalidArgument) unstack(): num is {num}, but axis {axis} has {x.shape[axis]} elements")
    return list(torch.unbind(x, axis))


@operation
def unbind(input: torch.Tensor, axis: int = 0) -> list[torch.Tensor]:
    """The slices along an axis, without it."""
    return list(torch.unbind(input, axis))


@operation
def squeeze(x: torch.Tensor, axis: Any = None, name: str | None = None) -> torch.Tensor:
    """`x` without its axes of length 1, or without those of `axis` that have length 1."""
    need_tensor(x, "x", "squeeze")
    axis = as_axis(axis)
    return torch.squeeze(x) if axis is None or axis == () else torch.squeeze(x, axis)


@operation
def unsqueeze(x: torch.Tensor, axis: Axis, name: str | None = None) -> torch.Tensor:
    """`x` with axes of length 1 put in, one after another."""
    need_tensor(x, "x", "unsqueeze")
    axes = as_axis(axis)
    for each in (axes,) if isinstance(axes, int) else axes:
        x = torch.unsqueeze(x, each)
    return x


@operation
def flatten(x: torch.Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> torch.Tensor:
    """The axes from `start_axis` to `stop_axis` made one."""
    need_tensor(x, "x", "flatten")
    return torch.flatten(x, start_axis, stop_axis)


@operation
def unflatten(x: torch.Tensor, axis: int, shape: Shape, name: str | None = None) -> torch.Tensor:
    """One axis made several."""
    return torch.unflatten(x, axis, as_sizes(shape))


@operation
def expand(x: torch.Tensor, shape: Shape, name: str | None = None) -> torch.Tensor:
    """`x` repeated along axes of length 1; -1 keeps a length."""
    need_tensor(x, "x", "expand")
    return torch.Tensor.expand(x, as_sizes(shape))


broadcast_to = expand


@operation
def expand_as(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """`x` repeated to the shape of `y`."""
    return torch.Tensor.expand(x, list(y.shape))


@operation
def broadcast_tensors(input: Any, name: str | None = None) -> list[torch.Tensor]:
    """Tensors repeated to their common shape."""
    return list(torch.broadcast_tensors(*input))


@operation
def tile(x: torch.Tensor, repeat_times: Shape, name: str | None = None) -> torch.Tensor:
    """`x` repeated `repeat_times[i]` times along axis i."""
    return torch.tile(x, as_sizes(repeat_times))


@operation
def repeat_interleave(x: torch.Tensor, repeats: Any, axis: int | None = None, name: str | None = None) -> torch.Tensor:
    """Every element (slice along `axis`) `repeats` times."""
    return torch.repeat_interleave(x, repeats, axis)


@operation
def flip(x: torch.Tensor, axis: Axis, name: str | None = None) -> torch.Tensor:
    """The order of elements along axes turned round."""
    axes = as_axis(axis)
    return torch.flip(x, [axes] if isinstance(axes, int) else list(axes))


reverse = flip


@operation
def roll(x: torch.Tensor, shifts: Axis, axis: Axis = None, name: str | None = None) -> torch.Tensor:
    """Elements moved along axes, those that leave one end coming in at the other."""
    return torch.roll(x, as_axis(shifts), as_axis(axis))


@operation
def rot90(x: torch.Tensor, k: int = 1, axes: Sequence[int] = (0, 1), name: str | None = None) -> torch.Tensor:
    """Turned by k right angles in a plane."""
    return torch.rot90(x, k, list(axes))


@operation
def moveaxis(x: torch.Tensor, source: Axis, destination: Axis, name: str | None = None) -> torch.Tensor:
    """Axes moved to other places."""
    return torch.moveaxis(x, as_axis(source), as_axis(destination))


@operation
def gather(x: torch.Tensor, index: torch.Tensor, axis: Any = None, name: str | None = None) -> torch.Tensor:
    """Slices of `x` along an axis (the first) at the positions `index`."""
    need_tensor(index, "index", "gather")
    if index.is_floating_point():
        raise ValueError(f"(InvalidArgument) gather(): index must be int32 or int64, got {index.dtype}")
    axis = 0 if axis is None else int(axis)
    positions = torch.Tensor.to(index, torch.int64)
    _in_range(positions, int(x.shape[axis]), "gather")
    out = torch.index_select(x, axis, torch.flatten(positions))
    return torch.squeeze(out, axis) if index.ndim == 0 else out


def _in_range(index: torch.Tensor, length: int, operation_name: str) -> None:
    if torch.Tensor.numel(index) and not (-length <= int(index.min()) and int(index.max()) < length):
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
    """`x` with rows `index` replaced by those of `updates`, or (overwrite=False) by the sum of those sent there."""
    rows = torch.flatten(torch.Tensor.to(index, torch.int64))
    if torch.Tensor.numel(rows) and not (int(rows.min()) >= 0 and int(rows.max()) < int(x.shape[0])):
        raise ValueError(f"(InvalidArgument) scatter(): index must be in [0, {x.shape[0]})")
    if overwrite:
        return torch.index_put(x, (rows,), updates)
    return torch.index_add(torch.index_fill(x, 0, rows, 0), 0, rows, updates)


@operation
def scatter_nd_add(
    x: torch.Tensor, index: torch.Tensor, updates: torch.Tensor, name: str | None = None
) -> torch.Tensor:
    """`x` plus `updates` at the positions that the last axis of `index` names."""
    places = tuple(torch.unbind(torch.Tensor.to(index, torch.int64), -1))
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


@operation
def index_add(
    x: torch.Tensor, index: torch.Tensor, axis: int, value: torch.Tensor, name: str | None = None
) -> torch.Tensor:
    """`x` with slices of `value` added at positions along an axis."""
    return torch.index_add(x, axis, index, value)


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
    return x[tuple(index)]


@operation
def crop(x: torch.Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> torch.Tensor:
    """The part of `x` of `shape` that begins at `offsets`."""
    offsets = [0] * x.ndim if offsets is None else as_sizes(offsets)
    sizes = list(x.shape) if shape is None else as_sizes(shape)
    ends = [int(x.shape[axis]) if size == -1 else offsets[axis] + size for axis, size in enumerate(sizes)]
    return slice(x, list(range(x.ndim)), offsets, ends)


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
    kind = torch_dtype(dtype)
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
    """The elements without repetitions of the one before."""
    out = torch.unique_consecutive(x, return_inverse, return_counts, axis)
    if isinstance(out, torch.Tensor):
        return out
    return (out[0], *(each.to(torch_dtype(dtype)) for each in out[1:]))


@operation
def tensordot(x: torch.Tensor, y: torch.Tensor, axes: Axis = 2, name: str | None = None) -> torch.Tensor:
    """The sum of products over several axes."""
    return torch.tensordot(x, y, axes)


@operation
def view(x: torch.Tensor, shape_or_dtype: DTypeLike, name: str | None = None) -> torch.Tensor:
    """The same memory in another shape or dtype."""
    if isinstance(shape_or_dtype, (list, tuple)):
        return torch.Tensor.view(x, _reshaped(x, shape_or_dtype))
    return torch.Tensor.view(x, torch_dtype(shape_or_dtype))


@operation
def view_as(x: torch.Tensor, other: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The same memory in the shape of `other`."""
    return torch.Tensor.view(x, list(other.shape))


@operation
def as_strided(x: torch.Tensor, shape: Shape, stride: Shape, offset: int = 0, name: str | None = None) -> torch.Tensor:
    """The same memory with given steps."""
    return torch.as_strided(x, as_sizes(shape), as_sizes(stride), offset)


@operation
def unfold(x: torch.Tensor, axis: int, size: int, step: int, name: str | None = None) -> torch.Tensor:
    """Windows of `size` along an axis, every `step`."""
    return torch.Tensor.unfold(x, axis, size, step)


@operation
def as_complex(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Pairs along the last axis as complex numbers."""
    return torch.view_as_complex(x)


@operation
def as_real(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Complex numbers as pairs along a new last axis."""
    return torch.view_as_real(x)


def _at_least(count: int) -> Any:
    def function(*inputs: Any, name: str | None = None) -> Any:
        raise_to = {1: torch.atleast_1d, 2: torch.atleast_2d, 3: torch.atleast_3d}[count]
        out = [raise_to(as_torch(each)) for each in inputs]
        return out[0] if len(out) == 1 else out

    function.__name__ = f"atleast_{count}d"
    function.__doc__ = f"Tensors with axes of length 1 added until they have {count}."
    return operation(function)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def tolist(x: Tensor) -> Any:
    """The values as nested Python lists."""
    return x.tolist()
