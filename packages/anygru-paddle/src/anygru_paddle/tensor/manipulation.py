"""Changing the form of tensors: cast, reshape, concat, split, gather ..."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..base.errors import no_kernel, paddles
from ..framework.dtype import as_dtype, torch_dtype
from ..framework.kinds import Axis, DTypeLike, Shape
from .operation import (
    NUMBERS,
    as_axis,
    as_sizes,
    as_torch,
    need_float,
    need_same_dtype,
    no_small,
    operation,
    promoted,
    row,
    to_dtype,
)
from .selection import *  # noqa: F403

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "as_complex", "as_real", "as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors",
    "broadcast_to", "cast", "chunk", "concat", "expand", "expand_as", "flatten", "flip", "moveaxis",
    "repeat_interleave", "reshape", "reverse", "roll", "rot90", "split", "squeeze", "stack", "tensordot", "tile",
    "tolist", "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "unstack", "view", "view_as", "vsplit",
]  # fmt: skip

# torch's type stubs declare None, which is right only with `out` only.
_split_copy: Callable[..., Sequence[torch.Tensor]] = torch.split_with_sizes_copy  # type: ignore[assignment]
_unbind_copy: Callable[..., Sequence[torch.Tensor]] = torch.unbind_copy  # type: ignore[assignment]


@operation
def cast(x: torch.Tensor, dtype: DTypeLike) -> torch.Tensor:
    """A copy of `x` in another dtype, or in the same one."""
    wanted = torch_dtype(dtype)
    return torch.clone(x) if x.dtype == as_dtype(wanted) else to_dtype(x, wanted)


def _reshaped(x: torch.Tensor, shape: Shape) -> list[int]:
    """A shape with its zeros replaced by the lengths of `x` at the same places."""
    sizes = as_sizes(shape)
    if 0 in sizes and (torch.Tensor.numel(x) or -1 in sizes):
        for axis, size in enumerate(sizes):
            if size == 0:
                if axis >= x.ndim:
                    raise ValueError(f"(InvalidArgument) reshape(): shape[{axis}] is 0 but x has {x.ndim} axes")
                sizes[axis] = int(x.shape[axis])
    return sizes


def _copied_number(x: torch.Tensor) -> torch.Tensor:
    """`x`, or a copy of a tensor without axes: only of these, reshaped tensors have memory of their own in 2.6.2 (recorded)."""
    return x if x.ndim else torch.clone(x)


@operation
def reshape(x: torch.Tensor, shape: Shape, name: str | None = None) -> torch.Tensor:
    """`x` in another shape: one length may be -1 (computed from the rest), 0 means the length that `x` has there."""
    if not isinstance(shape, (list, tuple, torch.Tensor)):
        raise ValueError(
            f"(InvalidArgument) reshape(): shape must be a list, a tuple or a Tensor, got {type(shape).__name__}"
        )
    if not isinstance(shape, torch.Tensor) and list(shape) == list(x.shape):
        return x  # the tensor itself, as in 2.6.2 (recorded): `retain_grads` and in-place methods see it
    return torch.reshape(_copied_number(x), _reshaped(x, shape))


@operation
def transpose(x: torch.Tensor, perm: Sequence[int], name: str | None = None) -> torch.Tensor:
    """The axes of `x` in the order `perm`; axes that a shorter `perm` omits keep their places."""
    if isinstance(perm, int):
        raise ValueError(f"(InvalidArgument) transpose(): perm must be a list of {x.ndim} axes, but got {perm}")
    axes = as_sizes(perm)
    return torch.permute(x, [*axes, *range(len(axes), x.ndim)])


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
    # Tensors without elements are ignored, with any shape (recorded, 2.6.2).
    if len({each.ndim for each in tensors}) > 1:
        tensors = [each for each in tensors if torch.Tensor.numel(each)] or tensors
    return torch.cat(tensors, int(axis))


@operation
def stack(x: Any, axis: int = 0, name: str | None = None) -> torch.Tensor:
    """Tensors of one shape and dtype joined along a new axis."""
    if isinstance(x, torch.Tensor):
        raise ValueError("(InvalidArgument) stack(): argument 'x' (position 0) must be list of Tensors, but got Tensor")
    tensors = list(x)
    for each in tensors[1:]:
        need_same_dtype(tensors[0], each, "stack")
    return torch.stack(tensors, axis)


@operation
def split(x: torch.Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[torch.Tensor]:
    """`x` cut along an axis into equal parts, or into parts of given lengths (one may be -1)."""
    axis = int(axis)
    if axis < -x.ndim:
        raise AssertionError(f"(rank(x) + axis) must >= 0, got axis {axis} of shape {list(x.shape)}")
    if axis >= x.ndim:
        raise ValueError(f"(InvalidArgument) split(): axis must be in [{-x.ndim}, {x.ndim}), got {axis}")
    length = int(x.shape[axis])
    # The parts are copies, as in 2.6.2: changes in place do not reach x (recorded).
    if isinstance(num_or_sections, (list, tuple)):
        sections = as_sizes(num_or_sections)
        if not length:
            sections = [0] * len(sections)  # for any sections (recorded, 2.6.2)
        if sections.count(-1) == 1:
            sections[sections.index(-1)] = length - sum(each for each in sections if each != -1)
        if sum(sections) != length or min(sections, default=0) < 0:
            raise ValueError(f"(InvalidArgument) split(): sections {list(num_or_sections)} do not sum to {length}")
        return list(_split_copy(x, sections, axis))
    if not isinstance(num_or_sections, int):
        kind = type(num_or_sections)
        raise paddles(
            TypeError(f"The type of 'num_or_sections' in split must be int, list or tuple, but received {kind}.")
        )
    if num_or_sections <= 0 or length % num_or_sections:
        raise ValueError(
            f"(InvalidArgument) split(): an axis of {length} elements cannot be split into {num_or_sections} equal parts"
        )
    return list(_split_copy(x, [length // num_or_sections] * num_or_sections, axis))


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
    return list(_unbind_copy(x, axis))  # `unbind` gives parts of x's own memory, this one copies (recorded, 2.6.2)


def _slices(input: torch.Tensor, axis: int = 0) -> list[torch.Tensor]:
    # The results of torch.unbind refuse every change in place.
    return [torch.select(input, axis, number) for number in range(torch.Tensor.size(input, axis))]


unbind = row("unbind", _slices, "The slices along an axis, without it.")


@operation
def squeeze(x: torch.Tensor, axis: Any = None, name: str | None = None) -> torch.Tensor:
    """`x` without its axes of length 1, or without the axes of `axis` that have length 1."""
    axis = as_axis(axis)
    # An empty list means all axes (recorded, 2.6.2).
    return torch.squeeze(x) if axis is None or axis == () else torch.squeeze(x, axis)


@operation
def unsqueeze(x: torch.Tensor, axis: Axis, name: str | None = None) -> torch.Tensor:
    """`x` with axes of length 1 put in, one after another."""
    axes = as_axis(axis)
    for each in (axes,) if isinstance(axes, int) else axes:
        x = torch.unsqueeze(x, each)
    return x


@operation
def flatten(x: torch.Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> torch.Tensor:
    """The axes from `start_axis` to `stop_axis` made one."""
    if not x.ndim and (start_axis, stop_axis) not in ((0, -1), (0, 0), (-1, -1), (-1, 0)):
        raise ValueError("The stop_axis should be a int, and in range [-1, 0] for a tensor of no axes")
    out = torch.flatten(_copied_number(x), start_axis, stop_axis)
    # Another tensor, even where nothing changes, as in 2.6.2 (recorded).
    return out.view_as(out) if out is x else out


@operation
def unflatten(x: torch.Tensor, axis: int, shape: Shape, name: str | None = None) -> torch.Tensor:
    """One axis made several."""
    if not -x.ndim <= int(axis) < x.ndim:
        raise AssertionError(f"'axis' must be in the range of [{-x.ndim}, {x.ndim}), got {axis}")
    return torch.unflatten(x, axis, as_sizes(shape))


def _repeated(x: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    return torch.clone(torch.Tensor.expand(x, sizes), memory_format=torch.contiguous_format)


@operation
def expand(x: torch.Tensor, shape: Shape, name: str | None = None) -> torch.Tensor:
    """`x` repeated along axes of length 1; -1 keeps a length. A copy, as in 2.6.2 (recorded), which may be written to."""
    return _repeated(x, as_sizes(shape))


broadcast_to = expand


expand_as = row("expand_as", lambda x, y, name=None: _repeated(x, list(y.shape)), "`x` repeated to the shape of `y`.")


@operation
def broadcast_tensors(input: Any, name: str | None = None) -> list[torch.Tensor]:
    """Tensors repeated to their common shape."""
    # Copies, as `expand` gives them (recorded, 2.6.2); torch's are views of the inputs.
    return [torch.clone(each) for each in torch.broadcast_tensors(*input)]


@operation
def tile(x: torch.Tensor, repeat_times: Shape, name: str | None = None) -> torch.Tensor:
    """`x` repeated `repeat_times[i]` times along axis i."""
    return torch.tile(x, as_sizes(repeat_times))


@operation
def repeat_interleave(x: torch.Tensor, repeats: Any, axis: int | None = None, name: str | None = None) -> torch.Tensor:
    """Every element (slice along `axis`) `repeats` times."""
    no_small(x, "repeat_interleave")
    return torch.repeat_interleave(x, repeats, axis)


@operation
def flip(x: torch.Tensor, axis: Axis, name: str | None = None) -> torch.Tensor:
    """The order of elements along axes turned round."""
    axes = as_axis(axis)
    return torch.flip(x, [axes] if isinstance(axes, int) else list(axes))


reverse = flip


@operation
def roll(x: torch.Tensor, shifts: Axis, axis: Axis = None, name: str | None = None) -> torch.Tensor:
    """Elements shifted cyclically along axes."""
    return torch.roll(x, as_axis(shifts), as_axis(axis))


@operation
def rot90(x: torch.Tensor, k: int = 1, axes: Sequence[int] = (0, 1), name: str | None = None) -> torch.Tensor:
    """Turned by k right angles in a plane."""
    # The tensor itself, where torch makes a copy (recorded, 2.6.2).
    return x if k % 4 == 0 else torch.rot90(x, k, list(axes))


@operation
def moveaxis(x: torch.Tensor, source: Axis, destination: Axis, name: str | None = None) -> torch.Tensor:
    """Axes moved to other places."""
    return torch.moveaxis(x, as_axis(source), as_axis(destination))


def _contracted(axes: Any, rank: int) -> tuple[list[int], list[int]]:
    """The axes of x and of y that a `tensordot` sums over."""
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise AssertionError(f"The 'axes' in tensordot should not be negative, but received axes={axes}.")
        return list(range(rank - int(axes), rank)), list(range(int(axes)))
    both = [axes, axes] if not isinstance(axes[0], (list, tuple, torch.Tensor)) else [axes[0], axes[-1]]
    mine, theirs = (as_sizes(each) for each in both)
    longer = max(mine, theirs, key=len)
    return mine + longer[len(mine) :], theirs + longer[len(theirs) :]


@operation
def tensordot(x: torch.Tensor, y: torch.Tensor, axes: Axis = 2, name: str | None = None) -> torch.Tensor:
    """The sum of products over several axes: the last ones of x and the first ones of y, or lists of axes of both.

    Raises:
        AssertionError: for axes of unlike lengths.
    """
    x, y = promoted(x, y, "tensordot", (*NUMBERS, torch.complex64, torch.complex128))
    pairs = list(zip(*_contracted(axes, x.ndim), strict=True))
    for mine, theirs in pairs:
        if not (-x.ndim <= mine < x.ndim and -y.ndim <= theirs < y.ndim):
            raise paddles(
                IndexError(f"tensordot(): x has {x.ndim} axes and y {y.ndim}, got the axes {mine} and {theirs}")
            )
        if x.dtype == torch.bool and 1 in (x.shape[mine], y.shape[theirs]):
            raise ValueError("(InvalidArgument) tensordot(): sums of bools are int64, which no bool is multiplied with")
        # An axis of length 1 goes with any other, as if repeated (recorded, 2.6.2).
        if x.shape[mine] == 1:
            y = torch.sum(y, dim=theirs, keepdim=True, dtype=torch_dtype(y.dtype))
        elif y.shape[theirs] == 1:
            x = torch.sum(x, dim=mine, keepdim=True, dtype=torch_dtype(x.dtype))
        elif x.shape[mine] != y.shape[theirs]:
            raise AssertionError(
                "The dimensional size for 'x' and 'y' in tensordot should match each other, but 'x' has size "
                f"{x.shape[mine]} in dim {mine} while 'y' has size {y.shape[theirs]} in dim {theirs}."
            )
    if x.dtype == torch.bool:
        raise no_kernel("(NotFound) tensordot() is not implemented for bool; cast to int32 first")
    kind = torch_dtype(x.dtype)
    if kind not in (torch.int32, torch.int64):
        return torch.tensordot(x, y, ([mine for mine, _ in pairs], [theirs for _, theirs in pairs]))
    # Paddle 2.6.2 loses the digits of integers beyond 2 ** 53 here (recorded).
    wide = torch.tensordot(x.double(), y.double(), ([mine for mine, _ in pairs], [theirs for _, theirs in pairs]))
    return torch.Tensor.to(wide, kind)


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


def _as_complex(x: torch.Tensor) -> torch.Tensor:
    need_float(x, "as_complex")
    return torch.view_as_complex(x)


as_complex = row("as_complex", lambda x, name=None: _as_complex(x), "Pairs along the last axis as complex numbers.")
as_real = row("as_real", lambda x, name=None: torch.view_as_real(x), "Complex numbers as pairs along a new last axis.")


def _at_least(count: int) -> Any:
    def function(*inputs: Any, name: str | None = None) -> Any:
        raise_to = {1: torch.atleast_1d, 2: torch.atleast_2d, 3: torch.atleast_3d}[count]
        out = [raise_to(_copied_number(as_torch(each))) for each in inputs]
        return out[0] if len(out) == 1 else out

    function.__name__ = f"atleast_{count}d"
    function.__doc__ = f"Tensors with axes of length 1 added until they have {count}."
    return operation(function)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def tolist(x: "Tensor") -> Any:
    """The values as nested Python lists."""
    return x.tolist()
