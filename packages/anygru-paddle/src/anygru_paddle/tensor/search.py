"""Finding elements: argmax, sort, topk, where ..."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..base.errors import paddles
from ..framework.dtype import torch_dtype
from ..framework.kinds import Axis, DTypeLike, Operand
from .operation import NUMBERS, as_axis, need_same_dtype, need_tensor, no_small, operation, row

__all__ = [
    "argmax", "argmin", "argsort", "bucketize", "index_sample", "index_select", "kthvalue", "masked_select", "mode",
    "nonzero", "searchsorted", "sort", "topk", "where",
]  # fmt: skip


def _position(name: str, compute: Callable[..., Any], what: str) -> Callable[..., Any]:
    def function(
        x: torch.Tensor, axis: Axis = None, keepdim: bool = False, dtype: DTypeLike = "int64", name: str | None = None
    ) -> torch.Tensor:
        need_tensor(x, "x", function.__name__)
        no_small(x, function.__name__, (torch.uint8, torch.int16))
        if dtype is None:
            raise ValueError(f"{function.__name__}: dtype must be 'int32' or 'int64', but received None")
        if torch_dtype(dtype) not in (torch.int32, torch.int64):
            raise ValueError(
                f"(InvalidArgument) {function.__name__}(): dtype must be int32 or int64, but received {dtype}"
            )
        if isinstance(axis, float):
            raise paddles(TypeError(f"{function.__name__}: axis must be an int, but received {axis!r}"))
        out = compute(x, as_axis(axis), keepdim) if axis is not None else compute(x)
        if keepdim and (axis is None or not x.ndim):  # of a number [1] with an axis (recorded, 2.6.2)
            out = torch.reshape(out, [1] * (x.ndim if axis is None else 1))
        return torch.Tensor.to(out, torch_dtype(dtype))

    return row(name, function, what)


argmax = _position(
    "argmax", torch.argmax, "The position of the largest element along an axis, or in the flattened tensor."
)
argmin = _position(
    "argmin", torch.argmin, "The position of the smallest element along an axis, or in the flattened tensor."
)


@operation
def argsort(x: torch.Tensor, axis: int = -1, descending: bool = False, name: str | None = None) -> torch.Tensor:
    """The positions that sort an axis."""
    # Equal elements keep their order here; 2.6.2's own sort mixes them, by the length of the axis (recorded).
    return torch.argsort(x, dim=axis, descending=descending, stable=True)


@operation
def sort(x: torch.Tensor, axis: int = -1, descending: bool = False, name: str | None = None) -> torch.Tensor:
    """The elements in order along an axis."""
    no_small(x, "sort")
    return torch.sort(x, dim=axis, descending=descending, stable=True)[0]


@operation
def topk(
    x: torch.Tensor, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: str | None = None
) -> Any:
    """The k largest (smallest) elements along an axis (the last) and their positions."""
    no_small(x, "topk")
    if int(k) < 1:
        raise ValueError(f"(InvalidArgument) topk(): k must be at least 1, got {int(k)}")
    return tuple(torch.topk(x, int(k), -1 if axis is None else axis, largest, sorted))


@operation
def kthvalue(x: torch.Tensor, k: int, axis: int | None = None, keepdim: bool = False, name: str | None = None) -> Any:
    """The k-th smallest element along an axis (the last) and its position."""
    no_small(x, "kthvalue")
    return tuple(torch.kthvalue(x, k, -1 if axis is None else axis, keepdim))


@operation
def mode(x: torch.Tensor, axis: int = -1, keepdim: bool = False, name: str | None = None) -> Any:
    """The most frequent element along an axis and its position."""
    no_small(x, "mode")
    return tuple(torch.mode(x, axis, keepdim))


def where(condition: torch.Tensor, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """x where the condition holds, y elsewhere; without x and y the positions where it holds."""
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return _choose(condition, x, y)


@operation
def _choose(condition: torch.Tensor, x: Any, y: Operand) -> torch.Tensor:
    need_tensor(condition, "condition", "where")
    if torch.Tensor.dtype.__get__(condition) != torch.bool:  # type: ignore[attr-defined]
        raise ValueError(f"(InvalidArgument) where(): condition must be bool, but got {condition.dtype}")
    # A number counts as NumPy has it: a float is float64, an int int64.
    x, y = (each if isinstance(each, torch.Tensor) else torch.as_tensor(np.array([each])) for each in (x, y))
    if not (x.is_floating_point() and y.is_floating_point()):
        need_same_dtype(x, y, "where", NUMBERS)
    return torch.where(condition, x, y)


@operation
def nonzero(x: torch.Tensor, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: [count, axes], or a [count, 1] tensor for each axis."""
    if not x.ndim:
        raise ValueError("(InvalidArgument) nonzero(): x should have one axis at least")
    found = torch.nonzero(x)
    return tuple(torch.Tensor.split(found, 1, 1)) if as_tuple else found


@operation
def masked_select(x: torch.Tensor, mask: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The elements where the mask is true, 1-D."""
    return torch.masked_select(x, mask)


@operation
def index_select(x: torch.Tensor, index: torch.Tensor, axis: int = 0, name: str | None = None) -> torch.Tensor:
    """Slices of `x` along an axis at the positions `index`."""
    return torch.index_select(x, axis, index)


@operation
def index_sample(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """From row i of `x` [B, N] the elements at positions index[i] of `index` [B, K]: [B, K]."""
    return torch.gather(x, 1, torch.Tensor.to(index, torch.int64))


@operation
def searchsorted(
    sorted_sequence: torch.Tensor,
    values: torch.Tensor,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
) -> torch.Tensor:
    """Where `values` would be put into a sorted sequence."""
    return torch.searchsorted(sorted_sequence, values, out_int32=out_int32, right=right)


@operation
def bucketize(
    x: torch.Tensor,
    sorted_sequence: torch.Tensor,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
) -> torch.Tensor:
    """Where the elements of `x` would be put into a sorted sequence."""
    return torch.bucketize(x, sorted_sequence, out_int32=out_int32, right=right)
