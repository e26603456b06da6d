"""Joining and splitting arrays, and choosing elements of them."""

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from ..backends import _cpu
from ..backends._tensors import as_tensor
from ..configuration import config
from ..types import VariableLike
from ..utils import type_check
from ..utils.helpers import force_array
from ..variable import Variable, as_array
from ._rows import (
    Check,
    Row,
    Tensor,
    Type,
    expect,
    expect_alike,
    function,
    has_axes,
    int_axis,
    move,
    not_empty,
    numbered,
    one_dtype,
)
from .arrays import Key, as_slices, take

__all__ = [
    "concat", "dstack", "get_item", "hstack", "pad", "pad_sequence", "permutate", "scatter_add", "select_item",
    "separate", "split_axis", "stack", "transpose_sequence", "vstack", "where",
]  # fmt: skip


def _joined(free_axis: int, least_ndim: int, otherwise: int | None) -> Check:
    """A check that arrays of `least_ndim` axes or more are alike except along one axis, arrays of fewer axes except
    along `otherwise`."""

    def check(node: object, *xs: Type) -> None:
        expect_alike(xs, free_axis if type_check.eval(xs[0].ndim) >= least_ndim else otherwise)

    return check


def _along_axis(node: Any, *xs: Type) -> None:
    axis = type_check.make_variable(node.axis, "axis")
    expect(xs[0].ndim > axis, -xs[0].ndim <= node.axis)
    expect_alike(xs, node.axis % type_check.eval(xs[0].ndim))


@function("Concat", not_empty, _along_axis, prepare=int_axis, by_numpy=move)
def concat(xs: Sequence[Tensor], axis: int = 1) -> Tensor:
    """Join a list or tuple of arrays along an existing axis (the second by default)."""
    return torch.cat(tuple(xs), axis)


def _one_kind(node: Any, x: Type, *others: Type) -> None:
    expect(-x.ndim - 1 <= node.axis, node.axis <= x.ndim)
    for other in others:
        expect(other.dtype == x.dtype, other.shape == x.shape)


@function("Stack", not_empty, _one_kind, by_numpy=move)
def stack(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Join a list or tuple of arrays of one shape along a new axis."""
    return torch.stack(tuple(xs), axis)


@function("Hstack", not_empty, numbered, _joined(1, 2, 0), by_numpy=move)
def hstack(xs: Sequence[Tensor]) -> Tensor:
    """Join arrays along the second axis (along the first if they have one only)."""
    return torch.hstack(tuple(xs))


@function("Vstack", not_empty, _joined(0, 2, None), by_numpy=move)
def vstack(xs: Sequence[Tensor]) -> Tensor:
    """Join arrays along the first axis (one-dimensional ones become rows)."""
    return torch.vstack(tuple(xs))


@function("Dstack", not_empty, numbered, _joined(2, 3, None), by_numpy=move)
def dstack(xs: Sequence[Tensor]) -> Tensor:
    """Join arrays along the third axis (which is added where it is missing)."""
    return torch.dstack(tuple(xs))


@function("Separate", has_axes, by_numpy=move)
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


@function("SplitAxis", _splits, prepare=lambda places, axis: (_places(places), axis), named=False, by_numpy=move)
def _split(x: Tensor, indices_or_sections: list[int] | int, axis: int) -> tuple[Tensor, ...]:
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        return x.split(size // indices_or_sections, axis) if size else (x,) * indices_or_sections
    bounds = [0, *indices_or_sections, size]
    before = (slice(None),) * (axis % x.ndim)
    # Python's slices: a place behind the end or before the previous place gives an empty part.
    keys = [(*before, slice(start, stop)) for start, stop in zip(bounds, bounds[1:], strict=False)]
    return tuple([x[key] for key in keys])


def split_axis(x: VariableLike, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    """Split an array along an axis, as `numpy.split` does.

    Args:
        indices_or_sections: number of equal parts, or the places where the later parts begin.
        force_tuple: give a tuple even if there is one part only.

    Raises:
        InvalidType: the axis is not a multiple of the number of parts, or ends before the last place.
        TypeError: `indices_or_sections` is neither an int nor a sequence of ints.
    """
    parts = _split(x, indices_or_sections, axis)
    return parts if force_tuple or len(parts) != 1 else parts[0]


def _one_item_shape(node: Any, *xs: Type) -> None:
    for x in xs:
        expect(x.ndim > 0, x.shape[1:] == xs[0].shape[1:], x.dtype == xs[0].dtype)
        if node.length is not None:
            expect(x.shape[0] <= node.length)


@function("PadSequence", not_empty, numbered, _one_item_shape)
def pad_sequence(xs: Sequence[Tensor], length: int | None = None, padding: float = 0) -> Tensor:
    """Sequences [L_b, ...] in one array [B, L, ...].

    Args:
        length: L; the longest length by default (InvalidType if a sequence is longer).
        padding: the value after the end of a sequence.
    """
    longest = max(len(x) for x in xs) if length is None else length
    return torch.stack(
        [torch.cat((x, x.new_full((longest - len(x), *x.shape[1:]), padding))) if len(x) < longest else x for x in xs]
    )


def _longest_first(node: object, *xs: Type) -> None:
    for x, following in zip(xs, xs[1:], strict=False):
        expect(x.shape[0] >= following.shape[0], x.shape[1:] == following.shape[1:])


@function("TransposeSequence", _longest_first, by_numpy=move)
def _transpose_sequence(xs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    lengths = numpy.array([len(x) for x in xs])
    starts = numpy.concatenate(([0], numpy.cumsum(lengths)[:-1]))
    counts = [int((lengths > step).sum()) for step in range(lengths[0])]
    rows = [starts[:count] + step for step, count in enumerate(counts)]
    order = torch.from_numpy(numpy.concatenate(rows))
    joined = torch.cat(tuple(xs)).to(xs[0].dtype)
    return joined.index_select(0, order.to(joined.device)).split(counts)


def transpose_sequence(xs: Sequence[VariableLike]) -> tuple[Variable, ...]:
    """Sequences [L_b, ...], longest first, as time steps [B_t, ...] (and back); InvalidType if they are not sorted."""
    return _transpose_sequence(xs) if len(xs) and len(xs[0]) else ()


@function("GetItem", prepare=lambda slices: (as_slices(slices),), by_numpy=move)
def get_item(x: Tensor, slices: tuple[Key, ...]) -> Tensor:
    """`x[slices]` with ints, slices, None, `...` and arrays of ints or booleans, as NumPy has it."""
    return take(x, slices) if slices else x[()]


def _enough_axes(node: Any, a: Type, b: Type) -> None:
    expect(a.ndim >= sum(key is not None for key in node.slices))


@function("ScatterAdd", _enough_axes, prepare=lambda slices: (as_slices(slices),))
def _scatter_add(a: Tensor, b: Tensor, slices: tuple[Key, ...]) -> Tensor:
    places = take(torch.arange(a.numel(), device=a.device).reshape(a.shape), slices)
    if places.shape != b.shape:
        raise ValueError(
            "Chainer does not support automatic broadcasting of variables: scatter_add needs b of the shape "
            f"{tuple(places.shape)} of a[slices], got {tuple(b.shape)}"
        )
    return a.reshape(-1).index_add(0, places.reshape(-1), b.reshape(-1).to(a.dtype)).reshape(a.shape)


def scatter_add(a: VariableLike, slices: Key, b: VariableLike) -> Variable:
    """`a` with `b` added at `a[slices]`; a place that is named twice is added to twice."""
    return _scatter_add(a, b, slices)


def _one_index_a_row(node: object, x: Type, t: Type) -> None:
    expect(t.dtype.kind == "i", x.ndim == 2, t.ndim == 1, x.shape[0] == t.shape[0])


@function("SelectItem", _one_index_a_row, by_numpy=lambda node, x, t: x[numpy.arange(len(t)), t])
def select_item(x: Tensor, t: Tensor) -> Tensor:
    """`x[i, t[i]]` for each row i of x [B, N]. In debug mode t has to be in [0, N) (ValueError)."""
    if config.debug and bool(((t < 0) | (t >= x.shape[1])).any()):
        raise ValueError("Each label `t` need to satisfty `0 <= t < x.shape[1]`")
    # A negative index counts from the end outside of debug mode (Chainer 7.8.1, seen).
    return x[torch.arange(len(t), device=x.device), t.long()]


@function("Permutate", has_axes, by_numpy=move)
def _permutate(x: Tensor, indices: Any, axis: int, inv: bool) -> Tensor:
    axis = max(axis, 0)  # A negative axis is taken for the first (Chainer 7.8.1, `Permutate._permutate`, recorded).
    order = _cpu.array_to_cpu(indices).astype(numpy.int64)
    size = x.shape[axis]
    if config.debug:
        _check_permutation(order, size)
    if len(order) and not (order.min() >= -size and order.max() < size):
        raise IndexError(f"indices must be below {size}, the size of axis {axis}, got {order}")
    order = numpy.where(order < 0, order + size, order)
    return x.index_select(axis, torch.from_numpy(numpy.argsort(order) if inv else order).to(x.device))


def _check_permutation(order: numpy.ndarray, size: int) -> None:
    """ValueError for an index that is out of bounds or comes twice, as Chainer has it in debug mode."""
    for index in order:
        if not 0 <= index < size:
            raise ValueError(f"Out of bounds index: {index}")
    values, counts = numpy.unique(order, return_counts=True)
    if len(order) > len(values):
        raise ValueError(f"indices contains duplicate value: {values[counts > 1][0]}")


def permutate(x: VariableLike, indices: Any, axis: int = 0, inv: bool = False) -> Variable:
    """The array in the order given by `indices` (int array) along an axis, or in the inverse of that order.

    Raises:
        ValueError: `indices` is not a one-dimensional int array.
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


@function("Where", _boolean, prepare=lambda condition: (force_array(as_array(condition)),), by_numpy=move)
def _where(x: Tensor, y: Tensor, condition: Any) -> Tensor:
    return torch.where(as_tensor(condition).to(x.device), x, y)


def where(condition: Any, x: VariableLike, y: VariableLike) -> Variable:
    """`x` where the boolean array holds, `y` elsewhere."""
    return _where(x, y, condition)


class Pad(Row):
    """The node of `pad`."""

    def __init__(self, pad_width: Any, mode: Any, **keywords: Any) -> None:
        self.pad_width, self.mode, self.keywords = pad_width, mode, keywords
        self.values = keywords.get("constant_values", 0)

    def compute(self, x: Tensor) -> Tensor:  # type: ignore[override]
        if self.mode != "constant" or set(self.keywords) - {"constant_values"}:
            return self._as_numpy(x)
        pad_width = numpy.asarray(self.pad_width)
        if pad_width.dtype.kind != "i":
            raise TypeError(f"`pad_width` must be of integral type, got {self.pad_width!r}")
        widths = numpy.broadcast_to(pad_width, (x.ndim, 2))
        values = numpy.broadcast_to(numpy.asarray(self.values), (x.ndim, 2))
        for axis, sides in enumerate(zip(widths, values, strict=True)):
            before, after = (
                x.new_full((*x.shape[:axis], int(width), *x.shape[axis + 1 :]), float(value))
                for width, value in zip(*sides, strict=True)
            )
            x = torch.cat((before, x, after), axis)
        return x

    def _as_numpy(self, x: Tensor) -> Tensor:
        """NumPy's result; the padding passes no gradient (Chainer 7.8.1, `pad.py`, recorded)."""
        padded = numpy.pad(x.detach().cpu().numpy(), self.pad_width, self.mode, **self.keywords)
        widths = numpy.broadcast_to(numpy.asarray(self.pad_width), (x.ndim, 2)).tolist()
        y = torch.from_numpy(padded).to(x.device)
        y[tuple([slice(before, before + size) for (before, _), size in zip(widths, x.shape, strict=True)])] = x
        return y


def pad(x: VariableLike, pad_width: Any, mode: str, **keywords: Any) -> Variable:
    """The array with values around it, as `numpy.pad`.

    Args:
        pad_width: an int, (before, after) or one such pair per axis.
        constant_values: for mode "constant", likewise, 0 by default.
    """
    return Pad(pad_width, mode, **keywords).result((x,))
