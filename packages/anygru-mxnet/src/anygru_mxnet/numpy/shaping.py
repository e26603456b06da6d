"""Functions of `mx.np` that move, select or sort elements, by torch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp
import torch
from torch import Tensor

from ..base import FrontEndIndexError, FrontEndUnsupported, FrontEndValueError, MXNetError, Sizes
from ..operators.registry import one_axis

Function = Callable[..., Any]


def check_supported(argument: str, value: Any, *allowed: Any) -> None:
    """Raise an error unless an argument has one of the values that MXNet supports.

    Raises:
        NotImplementedError: naming the argument, the allowed values and the given one.
    """
    if value not in allowed:
        raise FrontEndUnsupported(f"{argument} must be {' or '.join(map(repr, allowed))}, got {value!r}")


def _reshape(a: Tensor, newshape: Any, order: str = "C") -> Tensor:
    check_supported("order", order, "C")
    return a.reshape(newshape)


def _ravel(x: Tensor, order: str = "C") -> Tensor:
    check_supported("order", order, "C")
    return x.reshape(-1)


def _squeeze(a: Tensor, axis: Sizes = None) -> Tensor:
    if axis is None:
        return a.squeeze()
    axes = tuple(one_axis(one, a.dim()) for one in ((axis,) if isinstance(axis, int) else axis))
    for one in axes:
        if a.shape[one] != 1:
            raise MXNetError(f"squeeze: axis {one} must be of size 1, got {a.shape[one]}")
    return a.squeeze(axes)


def _rollaxis(a: Tensor, axis: int, start: int = 0) -> Tensor:
    axis = one_axis(axis, a.dim())
    start = start + a.dim() if start < 0 else start
    return a.movedim(axis, start - 1 if axis < start else start)


def _take(a: Tensor, indices: Any, axis: int | None = None, mode: str = "raise", out: Any = None) -> Tensor:
    check_supported("mode", mode, "raise", "clip", "wrap")
    places = torch.as_tensor(indices, device=a.device).long()
    base, at = (a.reshape(-1), 0) if axis is None else (a, one_axis(axis, a.dim()))
    size = base.shape[at]
    if mode == "raise" and places.numel() and not bool(((places >= 0) & (places < size)).all()):
        raise MXNetError(f"take: an index is outside of 0..{size - 1} and mode='raise'")
    places = places % size if mode == "wrap" else places.clamp(0, size - 1)
    picked = base.index_select(at, places.reshape(-1))
    return picked.reshape(base.shape[:at] + places.shape + base.shape[at + 1 :])


def _ordered(choose: Function) -> Function:
    """`sort` or `argsort`. They are stable. Without an axis they sort the flattened array."""

    def function(a: Tensor, axis: int | None = -1, kind: str | None = None, order: Any = None) -> Tensor:
        check_supported("order", order, None)
        return choose(a.reshape(-1), -1) if axis is None else choose(a, axis)

    return function


def _split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    # MXNet's Python layer reads the size before its engine checks the array.
    if isinstance(indices_or_sections, int):
        if not -ary.dim() <= axis < ary.dim():
            raise FrontEndIndexError("tuple index out of range")
        if ary.shape[axis] % indices_or_sections:
            raise FrontEndValueError("array split does not result in an equal division")
    return list(torch.tensor_split(ary, indices_or_sections, axis))


def _trace(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None) -> Tensor:
    return torch.diagonal(a, offset, axis1, axis2).sum(-1).to(a.dtype)


def _diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return torch.diagonal(a, offset, axis1, axis2)


def _unique(
    ar: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    values, inverse, counts = torch.unique(ar, return_inverse=True, return_counts=True, dim=axis)
    # The first position of each value, from a stable sort of the inverse.
    first = torch.argsort(inverse.reshape(-1), stable=True)[counts.cumsum(0) - counts]
    if axis is None:
        inverse = inverse.flatten()  # as in MXNet 1.9.1 (recorded) and NumPy 1; NumPy 2 keeps the shape
    wanted = ((return_index, first), (return_inverse, inverse), (return_counts, counts))
    extra = [part for asked, part in wanted if asked]
    return (values, *extra) if extra else values


def _pad(x: Tensor, pad_width: Any, mode: Any = "constant", constant_values: float = 0) -> Tensor:
    check_supported("mode", mode, "constant", "edge", "reflect", "symmetric", "maximum", "minimum")
    pairs = torch.as_tensor(pad_width).expand(x.dim(), 2).tolist()
    if mode == "constant":
        return torch.nn.functional.pad(x, [width for pair in reversed(pairs) for width in pair], value=constant_values)
    for axis, (before, after) in enumerate(pairs):
        if mode in ("maximum", "minimum"):
            end = (torch.amax if mode == "maximum" else torch.amin)(x, axis, keepdim=True)
            parts = [end.repeat_interleave(before, axis), x, end.repeat_interleave(after, axis)]
            x = torch.cat(parts, axis)
        else:
            places: Any = onp.pad(onp.arange(x.shape[axis]), (before, after), mode)
            x = x.index_select(axis, torch.from_numpy(places).to(x.device))
    return x


def _meshgrid(*xi: Tensor, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list[Tensor]:
    check_supported("sparse", sparse, False)
    check_supported("copy", copy, True)
    return list(torch.meshgrid(*xi, indexing=indexing))


def _concatenate(seq: Sequence[Tensor], axis: int | None = 0, out: Any = None) -> Tensor:
    return torch.cat(tuple(seq), axis) if axis is not None else torch.cat([part.reshape(-1) for part in seq])


SHAPING: dict[str, Function] = {
    "reshape": _reshape, "ravel": _ravel, "squeeze": _squeeze, "rollaxis": _rollaxis, "take": _take,
    "sort": _ordered(lambda a, axis: torch.sort(a, dim=axis, stable=True).values),
    "argsort": _ordered(lambda a, axis: torch.argsort(a, dim=axis, stable=True)),
    "split": _split, "vsplit": lambda ary, indices_or_sections: _split(ary, indices_or_sections),
    "array_split": lambda ary, indices_or_sections, axis=0: list(torch.tensor_split(ary, indices_or_sections, axis)),
    "hsplit": lambda ary, indices_or_sections: list(torch.hsplit(ary, indices_or_sections)),
    "dsplit": lambda ary, indices_or_sections: list(torch.dsplit(ary, indices_or_sections)),
    "trace": _trace, "diagonal": _diagonal, "unique": _unique, "pad": _pad, "meshgrid": _meshgrid,
    "concatenate": _concatenate, "append": lambda arr, values, axis=None: _concatenate((arr, values), axis),
}  # fmt: skip
