"""Functions of `mx.np` that create arrays or return sizes."""

from typing import Any

import numpy as onp
import torch

from ..base import DtypeLike, Sizes, torch_dtype
from ..context import ContextLike, as_context
from ..ndarray.array import Array, move, run
from .apply import apply, new_array, to_tensors, wrapped
from .shaping import check_supported


def array(object: Any, dtype: DtypeLike = None, ctx: ContextLike = None) -> Any:
    """A new array of values: float32 by default, or the dtype of an array of MXNet or NumPy."""
    if isinstance(object, Array):
        kind = object._t.dtype if dtype is None else torch_dtype(dtype)
        context = object._ctx if ctx is None else as_context(ctx)
        return wrapped(run(lambda t: move(t, context).to(kind), object._t), context)
    if isinstance(object, (list, tuple)) and any(isinstance(part, Array) for part in object):
        object = [to_tensors(part).tolist() if isinstance(part, Array) else part for part in object]
    keeps = isinstance(object, (onp.ndarray, onp.generic)) and dtype is None and object.dtype != onp.float64
    kind = torch_dtype(object.dtype if keeps else dtype)
    context = as_context(ctx)
    values = torch.from_numpy(onp.array(object, order="C").astype(torch.empty(0, dtype=kind).numpy().dtype))
    return wrapped(values.to(context.device), context)


def asarray(obj: Any, dtype: DtypeLike = None) -> Any:
    """The array itself, or an array of the values."""
    return obj if isinstance(obj, Array) and dtype is None else array(obj, dtype)


def _sizes(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, onp.integer)) else tuple(int(n) for n in shape)


def zeros(shape: Sizes, dtype: DtypeLike = None, order: str = "C", ctx: ContextLike = None) -> Any:
    """Zeros."""
    check_supported("order", order, "C")
    return new_array(lambda **kind: torch.zeros(_sizes(shape), **kind), ctx, dtype)


def ones(shape: Sizes, dtype: DtypeLike = None, order: str = "C", ctx: ContextLike = None) -> Any:
    """Ones."""
    check_supported("order", order, "C")
    return new_array(lambda **kind: torch.ones(_sizes(shape), **kind), ctx, dtype)


empty = zeros


def full(
    shape: Sizes, fill_value: Any, dtype: DtypeLike = None, order: str = "C", ctx: ContextLike = None, out: Any = None
) -> Any:
    """An array with one value in all elements."""
    check_supported("order", order, "C")
    if dtype is None and isinstance(fill_value, bool):
        dtype = "bool"
    values = (
        zeros(shape, dtype, ctx=ctx) + fill_value
        if dtype is None
        else new_array(lambda **kind: torch.full(_sizes(shape), fill_value, **kind), ctx, dtype)
    )
    return values if out is None else apply(lambda t: t, values, out=out)


def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: DtypeLike = None, ctx: ContextLike = None
) -> Any:
    """Evenly spaced numbers below `stop`."""
    begin, end = (0, start) if stop is None else (start, stop)
    return new_array(lambda **kind: torch.arange(begin, end, step, **kind), ctx, dtype)


def linspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DtypeLike = None,
    axis: int = 0, ctx: ContextLike = None,
) -> Any:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop`. With `retstep` also the step between them."""
    check_supported("axis", axis, 0)
    values, step = onp.linspace(start, stop, num, endpoint, retstep=True)
    made_of = array(values, dtype or "float32", ctx)
    return (made_of, float(step)) if retstep else made_of


def eye(N: int, M: int | None = None, k: int = 0, dtype: DtypeLike = None, ctx: ContextLike = None) -> Any:
    """Ones on a diagonal."""
    return array(onp.eye(N, M, k), dtype or "float32", ctx)


def identity(n: int, dtype: DtypeLike = None, ctx: ContextLike = None) -> Any:
    """Ones on the main diagonal."""
    return eye(n, dtype=dtype, ctx=ctx)


def genfromtxt(*args: Any, **kwargs: Any) -> Any:
    """NumPy's `genfromtxt` as an array."""
    dtype = kwargs.pop("dtype", onp.float32)
    return array(onp.genfromtxt(*args, **kwargs), dtype)


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes."""
    return asarray(a).shape


def ndim(a: Any) -> int:
    """The number of axes."""
    return asarray(a).ndim


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of an axis."""
    return asarray(a).size if axis is None else asarray(a).shape[axis]


__all__ = [
    "arange", "array", "asarray", "empty", "eye", "full", "genfromtxt", "identity", "linspace", "ndim", "ones",
    "shape", "size", "zeros",
]  # fmt: skip
