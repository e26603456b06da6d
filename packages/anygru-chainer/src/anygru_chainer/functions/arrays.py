"""Shapes, axes, indices, dtypes and devices of arrays."""

import math
from collections.abc import Sequence
from typing import Any

import numpy
import torch

from .. import backend
from ..backends import cuda
from ..backends._tensors import as_tensor, torch_dtype
from ..configuration import config
from ..types import VariableLike
from ..utils import type_check
from ..variable import Variable
from ._rows import (
    Axes,
    Tensor,
    Type,
    broadcastable,
    check_axes,
    expect,
    expect_axes,
    function,
    has_axes,
    int_axis,
    move,
    not_empty,
    real,
)

__all__ = [
    "broadcast", "broadcast_to", "cast", "copy", "diagonal", "expand_dims", "flatten", "flip", "fliplr", "flipud",
    "moveaxis", "repeat", "reshape", "rollaxis", "squeeze", "swapaxes", "tile", "transpose",
]  # fmt: skip


Key = Any
"""An int, a slice, None, `...`, or an array or list of ints or booleans."""


def as_slices(slices: Key) -> tuple[Key, ...]:
    """An index as a tuple of indices; a list of ints is one index.

    A Variable or a second `...` is an IndexError, a second `...` in debug mode a ValueError (Chainer 7.8.1, recorded).
    """
    if isinstance(slices, list):
        slices = (slices,) if all(isinstance(s, int) for s in slices) else tuple(slices)
    elif not isinstance(slices, tuple):
        slices = (slices,)
    for key in slices:
        if hasattr(key, "creator_node"):
            raise IndexError("a Variable cannot be an index; use its array")
    if sum(key is Ellipsis for key in slices) > 1:
        raise (ValueError if config.debug else IndexError)("an index can only have a single ellipsis ('...')")
    return slices


def take(x: Tensor, slices: tuple[Key, ...]) -> Tensor:
    """`x[slices]`, negative steps included."""
    axis = 0
    keys: list[Key] = []
    for key in slices:
        width = _width(key)
        if key is Ellipsis:
            axis = x.ndim - sum(_width(other) for other in slices[len(keys) + 1 :])
        elif isinstance(key, slice) and (key.step or 1) < 0 and axis < x.ndim:
            places = torch.arange(x.shape[axis], device=x.device)[list(range(*key.indices(x.shape[axis])))]
            x, key = x.index_select(axis, places), slice(None)
        keys.append(_as_key(key, x.device))
        axis += width
    if any(isinstance(key, Tensor) for key in keys):  # with an array among the keys, NumPy treats an int as an array
        keys = [torch.tensor([key], device=x.device) if type(key) is int else key for key in keys]
        kinds = [type(key) for key in keys]
        if type(Ellipsis) in kinds and sum(map(_width, slices)) == x.ndim:
            place = kinds.index(type(Ellipsis))
            if Tensor in kinds[:place] and Tensor in kinds[place:]:
                return _take_around(x, keys, place)
    return x[tuple(keys)]


def _take_around(x: Tensor, keys: list[Key], place: int) -> Tensor:
    """`x[keys]` with arrays on both sides of an ellipsis that covers no axis.

    NumPy (2.4, recorded) treats such arrays as separated and puts their axes first; torch ignores the ellipsis.
    """
    arrays = [key for key in keys if isinstance(key, Tensor)]
    axes = max(1 if key.dtype == torch.bool else key.ndim for key in arrays)
    before = sum(not isinstance(key, Tensor) for key in keys[:place])
    apart = (*keys[:place], None, *keys[place + 1 :])
    return x[apart].squeeze(axes + before)


def _width(key: Key) -> int:
    """How many axes an index takes up."""
    if key is None or key is Ellipsis or isinstance(key, (bool, numpy.bool_)):
        return 0
    if isinstance(key, (numpy.ndarray, list)) and numpy.asarray(key).dtype == bool:
        return numpy.asarray(key).ndim
    return 1


def _as_key(key: Key, device: torch.device) -> Key:
    if isinstance(key, cuda.ndarray):
        return key.tensor
    if isinstance(key, list):
        key = numpy.asarray(key, None if key else int)
    if isinstance(key, numpy.ndarray) and key.ndim == 0 and key.dtype.kind in "iu":
        return key.item()
    if isinstance(key, numpy.ndarray):
        if key.dtype.kind not in "iub":
            raise IndexError(f"arrays used as indices must be of integer (or boolean) type, got {key.dtype}")
        return as_tensor(key if key.dtype == bool else key.astype(numpy.int64)).to(device)
    if isinstance(key, str):
        raise IndexError(f"only integers, slices, `...`, None and arrays of ints or booleans are indices, got {key!r}")
    return key.item() if isinstance(key, numpy.generic) else key


def _same_shape(x: VariableLike, shape: Sequence[int]) -> bool:
    return x.shape == shape


def _one_open_size(shape: Sequence[int]) -> tuple[tuple[int, ...]]:
    if sum(size < 0 for size in shape) > 1:
        raise AssertionError(f"shape may leave one size open (-1), got {tuple(shape)}")
    return (tuple(shape),)


def _size_kept(node: Any, x: Type) -> None:
    size = type_check.prod(x.shape)
    if min(node.shape, default=0) >= 0:
        expect(size == type_check.prod(node.shape))
    else:
        known = math.prod(s for s in node.shape if s > 0)
        expect(size % type_check.make_variable(known, f"known_size(={known})") == 0)


@function("Reshape", _size_kept, prepare=_one_open_size, unless=_same_shape, by_numpy=move)
def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape, in which one size may be left open (-1)."""
    return x.reshape([max(size, -1) for size in shape])  # any negative size is the open one


def flatten(x: VariableLike) -> Variable:
    """The same elements along one axis."""
    return reshape(x, (x.size,))


def _stretches(node: Any, x: Type) -> None:
    target = tuple(node.shape)
    expect(x.ndim <= type_check.make_variable(len(target), "len(shape)"))
    shape = type_check.eval(x.shape)
    for axis in range(-1, -len(shape) - 1, -1):
        if shape[axis] not in (1, target[axis]):
            raise type_check.InvalidType(
                f"in_type[0].shape[{axis}] == {target[axis]} or in_type[0].shape[{axis}] == 1",
                f"in_type[0].shape: {shape}",
            )


@function("BroadcastTo", _stretches, unless=_same_shape, by_numpy=move)
def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The array repeated along its axes of size 1 and new leading axes until it has this shape."""
    # A copy: users write into arrays, so no two elements may share memory.
    return x.expand(tuple(shape)).contiguous()


@function("Broadcast", not_empty, broadcastable, unless=lambda *xs: len(xs) == 1, by_numpy=move)
def broadcast(*xs: Tensor) -> tuple[Tensor, ...]:
    """The arrays in their common shape: a Variable for one array, a tuple for several."""
    return tuple(x.contiguous() for x in torch.broadcast_tensors(*xs))


@function(
    "ExpandDims",
    lambda node, x: expect(x.ndim >= (node.axis if node.axis >= 0 else -node.axis - 1)),
    prepare=lambda axis: (int(axis),),
    by_numpy=move,
)
def expand_dims(x: Tensor, axis: int) -> Tensor:
    """The array with a new axis of size 1 at `axis`."""
    return x.unsqueeze(axis)


def _ints(axis: Axes) -> tuple[tuple[int, ...] | None]:
    axis = (axis,) if isinstance(axis, int) else axis
    if not (axis is None or (isinstance(axis, tuple) and all(isinstance(a, int) for a in axis))):
        raise TypeError(f"axis must be None, int or tuple of ints, got {axis!r}")
    return (axis,)


@function("Squeeze", has_axes, prepare=_ints, named=False, by_numpy=move)
def squeeze(x: Tensor, axis: tuple[int, ...] | None = None) -> Tensor:
    """The array without the given axes (all of size 1 by default); ValueError for an axis of another size."""
    if axis is None:
        return x.squeeze()
    for a in axis:
        if x.shape[a] != 1:
            raise ValueError(f"cannot squeeze axis {a} of shape {tuple(x.shape)}: its size is not one")
    return x.squeeze(axis)


@function("Transpose", by_numpy=move)
def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order (reversed by default)."""
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(axes)
    if sorted(axis % x.ndim if x.ndim else axis for axis in order) != list(range(x.ndim)):
        raise ValueError(f"axes must name each of the {x.ndim} axes once, got {order}")
    return x.permute(order)


@function("Swapaxes", by_numpy=move)
def swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    """The array with two axes exchanged."""
    check_axes((axis1, axis2), x.ndim)
    return x.swapaxes(axis1, axis2)


def _moved(node: Any, x: Type) -> None:
    expect_axes(node.source, x)
    expect_axes(node.destination, x)


@function("Moveaxis", real, _moved, prepare=lambda *ends: tuple((e,) if isinstance(e, int) else e for e in ends))
def moveaxis(x: Tensor, source: tuple[int, ...], destination: tuple[int, ...]) -> Tensor:
    """The array with some axes (an int or a tuple) at other places, the rest in their order."""
    for name, ends in (("source", source), ("destination", destination)):
        if len({axis % x.ndim for axis in ends}) != len(ends):
            raise ValueError(f"duplicate value in {name} axis: {ends}")
    if len(source) != len(destination):
        raise ValueError("Length of source and destination are different.")
    return x.moveaxis(source, destination)


def _two_ints(axis: int, start: int) -> tuple[int, int]:
    for name, value in (("axis", axis), ("start", start)):
        if not isinstance(value, int):
            raise TypeError(f"{name} must be int, got {value!r}")
    return axis, start


def _start_in_array(node: Any, x: Type) -> None:
    expect_axes((node.axis,), x)
    if node.start >= 0:
        expect(x.ndim >= node.start)
    else:
        expect(x.ndim > -node.start - 1)


@function("Rollaxis", _start_in_array, prepare=_two_ints, by_numpy=move)
def rollaxis(x: Tensor, axis: int, start: int = 0) -> Tensor:
    """The array with an axis moved before the axis `start`."""
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return x.movedim(axis, start - 1 if axis < start else start)


@function("Flip", lambda node, x: expect(x.ndim > 0), has_axes, prepare=int_axis, by_numpy=move)
def flip(x: Tensor, axis: int) -> Tensor:
    """The array reversed along an axis."""
    return x.flip(axis)


@function("FlipLR", real, lambda node, a: expect(a.ndim >= 2))
def fliplr(a: Tensor) -> Tensor:
    """The array reversed along its second axis."""
    return a.flip(1)


@function("FlipUD", real, lambda node, a: expect(a.ndim >= 1))
def flipud(a: Tensor) -> Tensor:
    """The array reversed along its first axis."""
    return a.flip(0)


def _two_axes(node: Any, x: Type) -> None:
    expect(max(node.axis1, node.axis2) < x.ndim, -x.ndim <= min(node.axis1, node.axis2))


@function("Diagonal", _two_axes, by_numpy=move)
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A diagonal of two axes, as the last axis."""
    return x.diagonal(offset, axis1, axis2)


def _counts(name: str, value: int | tuple[int, ...]) -> tuple[int, ...]:
    """Non-negative counts from an int or a tuple of ints (TypeError, ValueError)."""
    counts = (value,) if isinstance(value, int) else value
    if not (isinstance(counts, tuple) and all(isinstance(count, int) for count in counts)):
        raise TypeError(f"{name} must be int or tuple of ints.\nActual: {type(value)}")
    if any(count < 0 for count in counts):
        raise ValueError(f"all elements in {name} must be zero or larger, got {counts}")
    return counts


@function("Tile", prepare=lambda reps: (_counts("reps", reps),), by_numpy=move)
def tile(x: Tensor, reps: tuple[int, ...]) -> Tensor:
    """The array repeated `reps` times along each axis, as `numpy.tile`."""
    return x.tile(reps)


def _repetitions(repeats: int | tuple[int, ...], axis: int | None) -> tuple[tuple[int, ...], int | None]:
    if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
        raise TypeError(f"axis must be int or None, got {axis!r}")
    return tuple([int(count) for count in _counts("repeats", repeats)]), axis


@function("Repeat", prepare=_repetitions, by_numpy=move)
def repeat(x: Tensor, repeats: tuple[int, ...], axis: int | None = None) -> Tensor:
    """Each element repeated along an axis (of the flattened array by default), as `numpy.repeat`."""
    x, along = (x.reshape(-1), axis or 0) if axis is None or x.ndim == 0 else (x, axis)
    check_axes((along,), x.ndim)
    if len(repeats) == 1:
        return x.repeat_interleave(repeats[0], along)
    if len(repeats) != x.shape[along]:
        raise ValueError(f"repeats has {len(repeats)} elements for an axis of size {x.shape[along]}")
    return x.repeat_interleave(torch.tensor(repeats, device=x.device), along)


# With a graph, even an unchanged dtype gives a node (Chainer 7.8.1, seen), which hooks and drawings show.
@function(
    "Cast",
    unless=lambda x, typ: x.dtype == numpy.dtype(typ) and not config.enable_backprop,
    by_numpy=lambda node, x: x.astype(node.typ),
)
def cast(x: Tensor, typ: Any) -> Tensor:
    """The array in another dtype; the gradient comes back in the dtype of `x`."""
    return x.to(torch_dtype(typ), copy=True)


def _device(dst: Any) -> tuple[backend.Device]:
    return (backend.CpuDevice() if isinstance(dst, cuda.DummyDeviceType) else backend.get_device(dst),)


@function("Copy", prepare=_device, by_numpy=move)
def copy(x: Tensor, dst: backend.Device) -> Tensor:
    """A copy of the array on the device `dst`; the gradient comes back to the device of `x`."""
    return x.to(f"cuda:{dst.device.id}" if isinstance(dst, backend.GpuDevice) else "cpu", copy=True)
