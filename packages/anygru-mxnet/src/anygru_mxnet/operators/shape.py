"""Operators on shapes: reshape with MXNet's codes, transposes, slices, joins, repeats."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..base import MXNetError, Sizes
from .arithmetic import same_dtype
from .registry import MOST_AXES, Shape, as_tuple, axes_of, one_axis, operator, truth


def new_shape(old: tuple[int, ...], codes: tuple[int, ...], reverse: bool = False) -> tuple[int, ...]:
    """The shape that MXNet's codes describe.

    0 keeps the dimension, -1 is inferred, -2 keeps all remaining dimensions, -3 multiplies two dimensions, -4 splits a dimension
    into the next two numbers (-1 is inferred). `reverse` reads shape and codes from the right.

    Raises:
        MXNetError: for codes that do not fit the shape.
    """
    if len(codes) > MOST_AXES:
        raise MXNetError(f"reshape: the shape has {len(codes)} axes, at most {MOST_AXES} are possible")
    if reverse:
        return tuple(reversed(new_shape(tuple(reversed(old)), tuple(reversed(codes)))))
    result: list[int] = []
    at = 0  # the dimension of `old` for the next code
    i = 0
    try:
        while i < len(codes):
            code = int(codes[i])
            if code > 0:
                result.append(code)
                at += 1
            elif code == 0:
                result.append(old[at])
                at += 1
            elif code == -1:
                result.append(-1)
                at += 1
            elif code == -2:
                result.extend(old[at:])
                at = len(old)
            elif code == -3:
                result.append(old[at] * old[at + 1])
                at += 2
            elif code == -4:
                left, right = int(codes[i + 1]), int(codes[i + 2])
                if left == right == -1 or 0 in (left, right):
                    raise MXNetError(f"reshape: -4 must be followed by two sizes (at most one -1), got {codes}")
                left = old[at] // right if left == -1 else left
                right = old[at] // left if right == -1 else right
                if left * right != old[at]:
                    raise MXNetError(f"reshape: -4 cannot split {old[at]} into {left} and {right}")
                result.extend((left, right))
                at += 1
                i += 2
            else:
                raise MXNetError(f"reshape: {code} in {codes} is not a code of MXNet")
            i += 1
    except IndexError:
        raise MXNetError(f"reshape: {codes} asks for more dimensions than {old} has") from None
    return _infer_one(old, codes, result)


def _infer_one(old: tuple[int, ...], codes: tuple[int, ...], result: list[int]) -> tuple[int, ...]:
    if result.count(-1) > 1:
        raise MXNetError(f"reshape: only one dimension of {codes} can be inferred")
    if -1 in result:
        known = -math.prod(result)
        result[result.index(-1)] = math.prod(old) // known if known else 0
    return tuple(result)


@operator("Reshape", "reshape", copies=True)
def _reshape(
    data: Tensor, shape: Sizes = None, reverse: bool = False, target_shape: Sizes = None, keep_highest: bool = False
) -> Tensor:
    if (
        shape in (None, ()) and target_shape
    ):  # the format of early symbol files: 0 is inferred, and the first axis may be kept
        shape = tuple(int(size) or -1 for size in as_tuple(target_shape))
        shape = (data.shape[0], *shape[1:]) if truth(keep_highest) else shape
    wanted = new_shape(tuple(data.shape), as_tuple(shape), truth(reverse))
    if math.prod(wanted) != data.numel():
        raise MXNetError(f"Reshape: target shape {wanted} has another size than the input's {tuple(data.shape)}")
    return data.reshape(wanted)


@operator("reshape_like", inputs=2, copies=True)
def _reshape_like(
    lhs: Tensor,
    rhs: Tensor,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Tensor:
    begin, end, _ = slice(lhs_begin, lhs_end).indices(lhs.dim())
    shape = tuple(lhs.shape[:begin]) + tuple(rhs.shape[rhs_begin:rhs_end]) + tuple(lhs.shape[end:])
    return lhs.reshape(shape)


@operator("Flatten", "flatten", copies=True)
def _flatten(data: Tensor) -> Tensor:
    return data.reshape(data.shape[0], -1)


@operator("transpose", copies=True)
def _transpose(data: Tensor, axes: Sizes = None) -> Tensor:
    order = tuple(reversed(range(data.dim()))) if axes in (None, ()) else axes_of(axes, data.dim())
    return data.permute(order)


@operator("SwapAxis", "swapaxes", copies=True)
def _swapaxes(data: Tensor, dim1: int = 0, dim2: int = 0) -> Tensor:
    return data.transpose(one_axis(dim1, data.dim()), one_axis(dim2, data.dim()))


@operator("expand_dims", copies=True)
def _expand_dims(data: Tensor, axis: int) -> Tensor:
    return data.unsqueeze(axis)


@operator("squeeze", copies=True)
def _squeeze(data: Tensor, axis: Sizes = None) -> Tensor:
    axes = tuple(a for a, n in enumerate(data.shape) if n == 1) if axis is None else axes_of(axis, data.dim())
    for one in axes:
        if data.shape[one] != 1:
            raise MXNetError(f"squeeze: axis {one} must be of size 1, got {data.shape[one]}")
    shape = [n for a, n in enumerate(data.shape) if a not in axes]
    # An array always has an axis (MXNet 1.9.1, observed).
    return data.reshape(shape or [1])


@operator("broadcast_to", copies=True)
def _broadcast_to(data: Tensor, shape: Sizes = ()) -> Tensor:
    wanted = as_tuple(shape)
    if len(wanted) == data.dim():
        # 0 keeps a size (MXNet 1.9.1, observed).
        wanted = tuple(n or have for n, have in zip(wanted, data.shape, strict=True))
    return data.broadcast_to(wanted)


@operator("broadcast_axis", "broadcast_axes", copies=True)
def _broadcast_axis(data: Tensor, axis: Sizes = (), size: Sizes = ()) -> Tensor:
    shape = list(data.shape)
    for one, count in zip(axes_of(as_tuple(axis), data.dim()), as_tuple(size), strict=True):
        if shape[one] != 1:
            raise MXNetError(f"broadcast_axis: axis {one} must be of size 1, got {shape[one]}")
        shape[one] = int(count)
    return data.broadcast_to(shape)


@operator("broadcast_like", inputs=2, copies=True)
def _broadcast_like(lhs: Tensor, rhs: Tensor, lhs_axes: Sizes = None, rhs_axes: Sizes = None) -> Tensor:
    if lhs_axes is None or rhs_axes is None:
        return lhs.broadcast_to(rhs.shape)
    lefts, rights = as_tuple(lhs_axes), as_tuple(rhs_axes)
    if not lefts or len(lefts) != len(rights):
        raise MXNetError(
            f"broadcast_like: lhs_axes and rhs_axes must have the same length, got {lhs_axes} and {rhs_axes}"
        )
    shape = list(lhs.shape)
    for left, right in zip(axes_of(lefts, lhs.dim()), axes_of(rights, rhs.dim()), strict=True):
        shape[left] = rhs.shape[right]
    return lhs.broadcast_to(shape)


def backwards(key: slice, size: int, device: torch.device) -> Tensor:
    """The positions of a slice with a negative step, or nothing if it ends before it begins."""
    start, stop, step = key.indices(size)
    return torch.arange(start, min(start, stop), step, device=device)


def cut(data: Tensor, keys: list[slice]) -> Tensor:
    """Slice the leading axes. Axes with negative steps, which torch lacks, are flipped and sliced with positive steps."""
    for axis, key in enumerate(keys):
        step = 1 if key.step is None else key.step
        if step == 0:
            raise MXNetError("slice: step cannot be 0")
        if step < 0:
            data = data.index_select(axis, backwards(key, data.shape[axis], data.device))
        elif key != slice(None):
            data = data[(slice(None),) * axis + (key,)]
    return data


@operator("slice", "crop", copies=True)
def _slice(data: Tensor, begin: Sizes, end: Sizes, step: Sizes = ()) -> Tensor:
    begins, ends = as_tuple(begin), as_tuple(end)
    steps = () if step is None else as_tuple(step)
    steps = steps + (None,) * (len(begins) - len(steps))
    keys = [slice(b, e, s) for b, e, s in zip(begins, ends, steps, strict=True)]
    return cut(data, keys)


@operator("slice_axis", copies=True)
def _slice_axis(data: Tensor, axis: int, begin: int, end: int | None) -> Tensor:
    axis = one_axis(int(axis), data.dim())
    size = data.shape[axis]
    first = begin + size if begin < 0 else begin
    last = size if end is None else end + size if end < 0 else end
    if not 0 <= first < last <= size:
        raise MXNetError(f"slice_axis: begin={begin}, end={end} is not a range of axis {axis}, of size {size}")
    return data.narrow(axis, first, last - first)


@operator("slice_like", inputs=2, copies=True)
def _slice_like(data: Tensor, shape_like: Tensor, axes: Sizes = ()) -> Tensor:
    for axis in axes_of(axes, data.dim()):
        if shape_like.shape[axis] > data.shape[axis]:
            raise MXNetError(f"slice_like: axis {axis} has only {data.shape[axis]} of {shape_like.shape[axis]} items")
        data = data.narrow(axis, 0, shape_like.shape[axis])
    return data


def _concat_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    """All sizes are equal except along the joined axis."""
    first = next((shape for shape in shapes if shape is not None), None)
    if first is None:
        return shapes
    axis = one_axis(int(attributes.get("dim", 1)), len(first))
    known = [shape for shape in shapes if shape is not None and len(shape) == len(first)]
    common = [0 if place == axis else max(shape[place] for shape in known) for place in range(len(first))]
    return [None if shape is None else tuple(common) for shape in shapes]


def _concat_back(attributes: Mapping[str, Any], inputs: list[Shape], results: list[Shape]) -> list[Shape]:
    result = results[0]
    if result is None:
        return inputs
    axis = one_axis(int(attributes.get("dim", 1)), len(result))
    others = tuple(0 if place == axis else size for place, size in enumerate(result))
    return [others for _ in inputs]


@operator("Concat", "concat", infer=_concat_shapes, back=_concat_back)
def _concat(*data: Tensor, dim: int = 1) -> Tensor:
    same_dtype(*data)
    return torch.cat(data, one_axis(int(dim), data[0].dim()))


@operator("_rnn_param_concat")
def _rnn_param_concat(*data: Tensor, dim: int = 0) -> Tensor:
    return torch.cat(data, int(dim))


def _stack_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    known = [shape for shape in shapes if shape is not None]
    return [tuple(max(sizes) for sizes in zip(*known, strict=True)) if known else None] * len(shapes)


@operator("stack", infer=_stack_shapes)
def _stack(*data: Tensor, axis: int = 0) -> Tensor:
    if not data:
        raise MXNetError("stack: needs at least one array")
    same_dtype(*data)
    return torch.stack(data, int(axis))


@operator("add_n", "ElementWiseSum", "element_wise_sum", alike=True)
def _add_n(*args: Tensor) -> Tensor:
    same_dtype(*args)
    total = args[0].clone()
    for other in args[1:]:
        if other.shape != total.shape:
            raise MXNetError(f"add_n: all shapes must be equal, got {tuple(total.shape)} and {tuple(other.shape)}")
        total = total + other
    return total


def _split_back(attributes: Mapping[str, Any], inputs: list[Shape], results: list[Shape]) -> list[Shape]:
    known = [shape for shape in results if shape is not None]
    if not known:
        return inputs
    result = tuple(max(sizes) for sizes in zip(*known, strict=True))  # 0 is an unknown size
    count, squeezed = int(attributes["num_outputs"]), truth(attributes.get("squeeze_axis", False))
    axis = one_axis(int(attributes.get("axis", 1)), len(result) + squeezed)
    kept = result if squeezed else (*result[:axis], *result[axis + 1 :])
    return [(*kept[:axis], count if squeezed else result[axis] * count, *kept[axis:])]


@operator(
    "SliceChannel",
    "split",
    copies=True,
    visible=lambda attributes: int(attributes["num_outputs"]),
    output_names=lambda index: f"output{index}",
    back=_split_back,
)
def _split(data: Tensor, num_outputs: int, axis: int = 1, squeeze_axis: bool = False) -> Tensor | tuple[Tensor, ...]:
    axis = one_axis(int(axis), data.dim())
    count = int(num_outputs)
    if count < 1 or data.shape[axis] % count:
        raise MXNetError(f"split: axis {axis} of size {data.shape[axis]} cannot be split into {count} equal parts")
    if truth(squeeze_axis):
        if data.shape[axis] != count:
            raise MXNetError(f"split: squeeze_axis needs {data.shape[axis]} parts along axis {axis}, got {count}")
        parts = data.unbind(axis)
    else:
        parts = data.split(data.shape[axis] // count, axis)
    return parts if count > 1 else parts[0]


def _parts(attributes: Mapping[str, Any]) -> int:
    return int(attributes.get("sections", 0)) or max(len(attributes["indices"]), 1)


@operator("_split_v2", copies=True, visible=_parts)
def _split_v2(
    data: Tensor, indices: Any = (), axis: int = 1, squeeze_axis: bool = False, sections: int = 0
) -> Tensor | tuple[Tensor, ...]:
    axis = one_axis(int(axis), data.dim())
    if int(sections):
        return _split(data, int(sections), axis, squeeze_axis)
    # In MXNet's files a 0 precedes the positions of the splits.
    if tuple(indices)[:1] not in ((), (0,)):
        raise MXNetError(f"_split_v2: indices must begin with 0, got {tuple(indices)}")
    parts = torch.tensor_split(data, tuple(int(i) for i in indices)[1:], axis)
    parts = tuple(p.squeeze(axis) for p in parts) if truth(squeeze_axis) else parts
    return parts if len(parts) > 1 else parts[0]


@operator("tile")
def _tile(data: Tensor, reps: Sizes) -> Tensor:
    return torch.tile(data, tuple(int(r) for r in as_tuple(reps)))


@operator("repeat")
def _repeat(data: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    if int(repeats) == 0:
        return data.new_empty(0)  # one empty axis, for any argument (MXNet 1.9.1, recorded)
    return torch.repeat_interleave(data, int(repeats), axis)


@operator("reverse", "flip", alike=True)
def _reverse(data: Tensor, axis: Sizes) -> Tensor:
    for one in axes_of(axis, data.dim()):  # an axis given twice is reversed twice (MXNet 1.9.1, recorded)
        data = torch.flip(data, (one,))
    return data


@operator("Pad", "pad")
def _pad(data: Tensor, mode: str, pad_width: Sizes, constant_value: float = 0.0) -> Tensor:
    widths = tuple(int(w) for w in as_tuple(pad_width))
    if len(widths) != 2 * data.dim() or any(widths[:4]):
        # MXNet 1.9.1 pads only the axes after the first two: "expects padding on the first two axes to be zero" (observed).
        raise MXNetError(f"pad: pad_width must have {2 * data.dim()} numbers, the first four 0; got {widths}")
    inner = [(widths[2 * a], widths[2 * a + 1]) for a in range(data.dim())]
    flat = [w for pair in reversed(inner[2:]) for w in pair]
    if mode == "constant":
        return torch.nn.functional.pad(data, flat, "constant", constant_value)
    names = {"edge": "replicate", "reflect": "reflect"}
    if mode not in names:
        raise MXNetError(f"pad: mode must be constant, edge or reflect, got {mode!r}")
    return torch.nn.functional.pad(data, flat, names[mode])


def _where_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    condition, x, y = shapes
    # x and y have the same shape. A condition with one axis may select rows.
    return [condition] * 3 if condition is not None and len(condition) > 1 else [condition, y, x]


@operator("where", inputs=3, infer=_where_shapes)
def _where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    same_dtype(x, y)
    if x.shape != y.shape:
        raise MXNetError(f"where: x and y must have one shape, got {tuple(x.shape)} and {tuple(y.shape)}")
    if condition.shape != x.shape:
        if condition.dim() != 1 or condition.shape[0] != x.shape[0]:
            raise MXNetError(f"where: condition must be of shape {tuple(x.shape)} or ({x.shape[0]},)")
        condition = condition.reshape((-1,) + (1,) * (x.dim() - 1))
    return torch.where(condition != 0, x, y)


@operator("diag")
def _diag(data: Tensor, k: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    if data.dim() == 1:
        return torch.diag(data, int(k))
    return torch.diagonal(data, int(k), int(axis1), int(axis2)).clone()
