"""Shapes, joining, splitting and indexing."""

import math
from collections.abc import Sequence
from typing import Any

import numpy
import torch

from .. import backend
from .._tensors import as_tensor, torch_dtype
from ..backends import _cpu, cuda
from ..configuration import config
from ..utils import force_array, type_check
from ..variable import Variable, as_array
from ._checks import (
    Axes,
    Check,
    Type,
    broadcastable,
    check_axes,
    expect,
    expect_alike,
    expect_axes,
    has_axes,
    numbered,
    one_dtype,
    real,
    some,
)  # fmt: skip
from ._indexing import Key, as_slices, take
from ._rows import Row, Tensor, function

__all__ = [
    "broadcast", "broadcast_to", "cast", "concat", "copy", "diagonal", "dstack", "expand_dims", "flatten", "flip", "fliplr",
    "flipud", "get_item", "hstack", "moveaxis", "pad", "pad_sequence", "permutate", "repeat", "reshape", "rollaxis",
    "scatter_add", "select_item", "separate", "split_axis", "squeeze", "stack", "swapaxes", "tile", "transpose",
    "transpose_sequence", "vstack", "where",
]  # fmt: skip


def _same_shape(x: Any, shape: Sequence[int]) -> bool:
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


@function("Reshape", _size_kept, prepare=_one_open_size, unless=_same_shape)
def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape, in which one size may be left open (-1)."""
    return x.reshape(tuple(shape))


def flatten(x: Any) -> Variable:
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


@function("BroadcastTo", _stretches, unless=_same_shape)
def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The array repeated along its axes of size 1 and new leading axes until it has this shape."""
    return x.expand(tuple(shape)).contiguous()


@function("Broadcast", some, broadcastable, unless=lambda *xs: len(xs) == 1)
def broadcast(*xs: Tensor) -> tuple[Tensor, ...]:
    """The arrays in their common shape: one Variable for one array, else a tuple."""
    return tuple(x.contiguous() for x in torch.broadcast_tensors(*xs))


@function(
    "ExpandDims",
    lambda node, x: expect(x.ndim >= (node.axis if node.axis >= 0 else -node.axis - 1)),
    prepare=lambda axis: (int(axis),),
)
def expand_dims(x: Tensor, axis: int) -> Tensor:
    """The array with a new axis of size 1 at `axis`."""
    return x.unsqueeze(axis)


def _ints(axis: Axes) -> tuple[tuple[int, ...] | None]:
    axis = (axis,) if isinstance(axis, int) else axis
    if not (axis is None or (isinstance(axis, tuple) and all(isinstance(a, int) for a in axis))):
        raise TypeError(f"axis must be None, int or tuple of ints, got {axis!r}")
    return (axis,)


@function("Squeeze", has_axes, prepare=_ints, named=False)
def squeeze(x: Tensor, axis: tuple[int, ...] | None = None) -> Tensor:
    """The array without the given axes (all of size 1 by default); ValueError for one of another size."""
    if axis is None:
        return x.squeeze()
    for a in axis:
        if x.shape[a] != 1:
            raise ValueError(f"cannot squeeze axis {a} of shape {tuple(x.shape)}: its size is not one")
    return x.squeeze(axis)


@function("Transpose")
def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order (reversed by default)."""
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(axes)
    if sorted(axis % x.ndim if x.ndim else axis for axis in order) != list(range(x.ndim)):
        raise ValueError(f"axes must name each of the {x.ndim} axes once, got {order}")
    return x.permute(order)


@function("Swapaxes")
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


@function("Rollaxis", _start_in_array, prepare=_two_ints)
def rollaxis(x: Tensor, axis: int, start: int = 0) -> Tensor:
    """The array with an axis moved before the axis `start`."""
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return x.movedim(axis, start - 1 if axis < start else start)


def _int_axis(axis: int) -> tuple[int]:
    if not isinstance(axis, int):
        raise TypeError(f"axis must be int, got {axis!r}")
    return (axis,)


@function("Flip", lambda node, x: expect(x.ndim > 0), has_axes, prepare=_int_axis)
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


@function("Diagonal", _two_axes)
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


@function("Tile", prepare=lambda reps: (_counts("reps", reps),))
def tile(x: Tensor, reps: tuple[int, ...]) -> Tensor:
    """The array side by side with itself, `reps` times along each axis, as `numpy.tile`."""
    return x.tile(reps)


def _repetitions(repeats: int | tuple[int, ...], axis: int | None) -> tuple[tuple[int, ...], int | None]:
    if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
        raise TypeError(f"axis must be int or None, got {axis!r}")
    return _counts("repeats", repeats), axis


@function("Repeat", prepare=_repetitions)
def repeat(x: Tensor, repeats: tuple[int, ...], axis: int | None = None) -> Tensor:
    """Each element repeated along an axis (of the flattened array by default), as `numpy.repeat`."""
    x, along = (x.reshape(-1), axis or 0) if axis is None or x.ndim == 0 else (x, axis)
    check_axes((along,), x.ndim)
    if len(repeats) == 1:
        return x.repeat_interleave(repeats[0], along)
    if len(repeats) != x.shape[along]:
        raise ValueError(f"repeats has {len(repeats)} elements for an axis of size {x.shape[along]}")
    return x.repeat_interleave(torch.tensor(repeats, device=x.device), along)


@function("Cast", unless=lambda x, typ: x.dtype == numpy.dtype(typ) and not config.enable_backprop)
def cast(x: Tensor, typ: Any) -> Tensor:
    """The array in another dtype; the gradient comes back in the dtype of `x`."""
    return x.to(torch_dtype(typ), copy=True)


def _device(dst: Any) -> tuple[backend.Device]:
    return (backend.CpuDevice() if isinstance(dst, cuda.DummyDeviceType) else backend.get_device(dst),)


@function("Copy", prepare=_device)
def copy(x: Tensor, dst: backend.Device) -> Tensor:
    """A copy of the array on the device `dst`; the gradient comes back to the device of `x`."""
    return x.to(f"cuda:{dst.device.id}" if isinstance(dst, backend.GpuDevice) else "cpu", copy=True)


def _joined(free_axis: int, least_ndim: int, otherwise: int | None) -> Check:
    """A check that arrays of `least_ndim` axes or more are alike but for one axis, others but for `otherwise`."""

    def check(node: object, *xs: Type) -> None:
        expect_alike(xs, free_axis if type_check.eval(xs[0].ndim) >= least_ndim else otherwise)

    return check


def _along_axis(node: Any, *xs: Type) -> None:
    axis = type_check.make_variable(node.axis, "axis")
    expect(xs[0].ndim > axis, -xs[0].ndim <= node.axis)
    expect_alike(xs, node.axis % type_check.eval(xs[0].ndim))


@function("Concat", some, _along_axis, prepare=_int_axis)
def concat(xs: Sequence[Tensor], axis: int = 1) -> Tensor:
    """Join a list or tuple of arrays along an existing axis (the second by default)."""
    return torch.cat(tuple(xs), axis)


def _one_kind(node: Any, x: Type, *others: Type) -> None:
    expect(-x.ndim - 1 <= node.axis, node.axis <= x.ndim)
    for other in others:
        expect(other.dtype == x.dtype, other.shape == x.shape)


@function("Stack", some, _one_kind)
def stack(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Join a list or tuple of arrays of one shape along a new axis."""
    return torch.stack(tuple(xs), axis)


@function("Hstack", some, numbered, _joined(1, 2, 0))
def hstack(xs: Sequence[Tensor]) -> Tensor:
    """Join arrays along the second axis (along the first if they have one only)."""
    return torch.hstack(tuple(xs))


@function("Vstack", some, _joined(0, 2, None))
def vstack(xs: Sequence[Tensor]) -> Tensor:
    """Join arrays along the first axis (one-dimensional ones become rows)."""
    return torch.vstack(tuple(xs))


@function("Dstack", some, numbered, _joined(2, 3, None))
def dstack(xs: Sequence[Tensor]) -> Tensor:
    """Join arrays along the third axis (which is added where it is missing)."""
    return torch.dstack(tuple(xs))


@function("Separate", has_axes)
def separate(x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of an array along an axis, without that axis."""
    return x.unbind(axis)


def _places(value: Any) -> list[int] | int:
    if isinstance(value, int):
        return value
    if isinstance(value, numpy.ndarray):
        if value.dtype.kind != "i" and value.size > 0:
            raise TypeError(f"indices_or_sections must be integers, got {value.dtype}")
        if value.ndim >= 2:
            raise TypeError(f"indices_or_sections must be 1-D sequence, got {value.ndim} dimensions")
        return int(value) if value.ndim == 0 else [int(i) for i in value]
    if isinstance(value, Sequence):
        return [int(i) for i in value]
    raise TypeError(f"indices_or_sections must be integer or 1-D array.\nActual: {type(value)}")


def _splits(node: Any, x: Type) -> None:
    expect(x.ndim > node.axis)
    places, size = node.indices_or_sections, x.shape[node.axis]
    if isinstance(places, int):
        expect(size % type_check.make_variable(places, "sections") == 0)
    elif places:
        expect(size >= type_check.make_variable(places[-1], "max_index"))


@function("SplitAxis", _splits, prepare=lambda places, axis: (_places(places), axis), named=False)
def _split(x: Tensor, indices_or_sections: list[int] | int, axis: int) -> tuple[Tensor, ...]:
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        return x.split(size // indices_or_sections, axis) if size else (x,) * indices_or_sections
    bounds = [0, *indices_or_sections, size]
    return tuple(x.narrow(axis, start, max(stop - start, 0)) for start, stop in zip(bounds, bounds[1:], strict=False))


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    """Split an array along an axis, as `numpy.split` does.

    Args:
        indices_or_sections: number of equal parts, or the places where the later parts begin.
        force_tuple: give a tuple even if there is one part only.

    Raises:
        InvalidType: the axis cannot be divided into so many parts, or ends before the last place.
        TypeError: `indices_or_sections` is neither an int nor a sequence of ints.
    """
    parts = _split(x, indices_or_sections, axis)
    return parts if force_tuple or len(parts) != 1 else parts[0]


def _one_item_shape(node: Any, *xs: Type) -> None:
    for x in xs:
        expect(x.ndim > 0, x.shape[1:] == xs[0].shape[1:], x.dtype == xs[0].dtype)
        if node.length is not None:
            expect(x.shape[0] <= node.length)


@function("PadSequence", some, numbered, _one_item_shape)
def pad_sequence(xs: Sequence[Tensor], length: int | None = None, padding: float = 0) -> Tensor:
    """Sequences [L_b, ...] in one array [B, L, ...].

    Args:
        length: L; the longest length by default (InvalidType if a sequence is longer).
        padding: the value behind the end of a sequence.
    """
    longest = max(len(x) for x in xs) if length is None else length
    return torch.stack(
        [torch.cat((x, x.new_full((longest - len(x), *x.shape[1:]), padding))) if len(x) < longest else x for x in xs]
    )


def _longest_first(node: object, *xs: Type) -> None:
    for x, following in zip(xs, xs[1:], strict=False):
        expect(x.shape[0] >= following.shape[0], x.shape[1:] == following.shape[1:])


@function("TransposeSequence", _longest_first)
def _transpose_sequence(xs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    lengths = numpy.array([len(x) for x in xs])
    starts = numpy.concatenate(([0], numpy.cumsum(lengths)[:-1]))
    counts = [int((lengths > step).sum()) for step in range(lengths[0])]
    rows = [starts[:count] + step for step, count in enumerate(counts)]
    order = torch.from_numpy(numpy.concatenate(rows))
    return torch.cat(tuple(xs)).index_select(0, order.to(xs[0].device)).split(counts)


def transpose_sequence(xs: Sequence[Any]) -> tuple[Variable, ...]:
    """Sequences [L_b, ...], longest first, as time steps [B_t, ...] (and back); InvalidType if they are not sorted."""
    return _transpose_sequence(xs) if len(xs) and len(xs[0]) else ()


@function("GetItem", prepare=lambda slices: (as_slices(slices),))
def get_item(x: Tensor, slices: tuple[Key, ...]) -> Tensor:
    """`x[slices]` with ints, slices, None, `...` and arrays of ints or booleans, as NumPy has it."""
    return take(x, slices) if slices else x[()]


def _enough_axes(node: Any, a: Type, b: Type) -> None:
    expect(a.ndim >= sum(key is not None for key in node.slices))


@function("ScatterAdd", _enough_axes, prepare=lambda slices: (as_slices(slices),))
def _scatter_add(a: Tensor, b: Tensor, slices: tuple[Key, ...]) -> Tensor:
    places = take(torch.arange(a.numel(), device=a.device).reshape(a.shape), slices)
    return a.reshape(-1).index_add(0, places.reshape(-1), b.expand(places.shape).reshape(-1)).reshape(a.shape)


def scatter_add(a: Any, slices: Key, b: Any) -> Variable:
    """`a` with `b` added at `a[slices]`; a place that is named twice is added to twice."""
    return _scatter_add(a, b, slices)


def _one_index_a_row(node: object, x: Type, t: Type) -> None:
    expect(t.dtype.kind == "i", x.ndim == 2, t.ndim == 1, x.shape[0] == t.shape[0])


@function("SelectItem", _one_index_a_row)
def select_item(x: Tensor, t: Tensor) -> Tensor:
    """`x[i, t[i]]` for each row i of x [B, N]."""
    return x[torch.arange(len(t), device=x.device), t.long()]


@function("Permutate", has_axes)
def _permutate(x: Tensor, indices: Any, axis: int, inv: bool) -> Tensor:
    order = _cpu.array_to_cpu(indices).astype(numpy.int64)
    if len(order) and not (order.min() >= 0 and order.max() < x.shape[axis]):
        raise IndexError(f"indices must be below {x.shape[axis]}, the size of axis {axis}, got {order}")
    return x.index_select(axis, torch.from_numpy(numpy.argsort(order) if inv else order).to(x.device))


def permutate(x: Any, indices: Any, axis: int = 0, inv: bool = False) -> Variable:
    """The array in the order given by `indices` (int array) along an axis, or in the inverse of that order.

    Raises:
        ValueError: `indices` is no one-dimensional int array.
    """
    if indices.dtype.kind != "i" or indices.ndim != 1:
        raise ValueError("indices should be a one-dimensional int array")
    return _permutate(x, as_array(indices), axis, inv)


def _boolean(node: Any, x: Type, y: Type) -> None:
    info = type_check.TypeInfo(node.condition.shape, node.condition.dtype)
    condition = type_check.make_variable(info, "condition")
    expect(condition.dtype == numpy.bool_)
    one_dtype(node, x, y)
    type_check.expect_broadcast_shapes(condition.shape, x.shape, y.shape)


@function("Where", _boolean, prepare=lambda condition: (force_array(as_array(condition)),))
def _where(x: Tensor, y: Tensor, condition: Any) -> Tensor:
    return torch.where(as_tensor(condition).to(x.device), x, y)


def where(condition: Any, x: Any, y: Any) -> Variable:
    """`x` where the boolean array holds, `y` elsewhere."""
    return _where(x, y, condition)


class Pad(Row):
    """The node of `pad`."""

    def __init__(self, pad_width: Any, mode: str, **keywords: Any) -> None:
        if mode != "constant" or set(keywords) - {"constant_values"}:
            raise NotImplementedError(
                f"anygru covers F.pad with mode='constant' (and constant_values), got mode={mode!r} {keywords or ''}; "
                "torch.nn.functional.pad in a FunctionNode does the others"
            )
        self.pad_width = pad_width
        self.values = keywords.get("constant_values", 0)

    def compute(self, x: Tensor) -> Tensor:  # type: ignore[override]
        widths = numpy.broadcast_to(numpy.asarray(self.pad_width), (x.ndim, 2))
        values = numpy.broadcast_to(numpy.asarray(self.values), (x.ndim, 2))
        for axis, sides in enumerate(zip(widths, values, strict=True)):
            before, after = (
                x.new_full((*x.shape[:axis], int(width), *x.shape[axis + 1 :]), float(value))
                for width, value in zip(*sides, strict=True)
            )
            x = torch.cat((before, x, after), axis)
        return x


def pad(x: Any, pad_width: Any, mode: str, **keywords: Any) -> Variable:
    """The array with values around it, as `numpy.pad` with mode "constant" (others: NotImplementedError).

    Args:
        pad_width: an int, (before, after) or one such pair an axis.
        constant_values: likewise, 0 by default.
    """
    return Pad(pad_width, mode, **keywords).result((x,))
