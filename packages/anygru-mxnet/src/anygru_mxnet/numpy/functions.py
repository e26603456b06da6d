"""The functions of `mx.np`, rows of tables over torch's."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp
import torch
from torch import Tensor

from ..base import DtypeLike, Sizes, torch_dtype
from ..context import ContextLike, as_context
from ..ndarray.array import Array
from .apply import apply, made, plain, wrapped

Function = Callable[..., Any]


def _named(name: str, compute: Function) -> Function:
    def function(*args: Any, **kwargs: Any) -> Any:
        return apply(compute, *args, **{key: value for key, value in kwargs.items() if value is not None})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` of arrays."
    return function


def _real(compute: Callable[[Tensor], Tensor]) -> Function:
    """A function of real numbers; whole ones become float32."""
    return lambda x: compute(torch.as_tensor(x) if not isinstance(x, Tensor) else x)


_ELEMENTS: dict[str, Function] = {
    "abs": torch.abs, "absolute": torch.abs, "exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2,
    "log10": torch.log10, "log1p": torch.log1p, "sqrt": torch.sqrt, "square": torch.square, "sin": torch.sin,
    "cos": torch.cos, "tan": torch.tan, "arcsin": torch.arcsin, "arccos": torch.arccos, "arctan": torch.arctan,
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "arcsinh": torch.arcsinh, "arccosh": torch.arccosh,
    "arctanh": torch.arctanh, "sign": torch.sign, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
    "fix": torch.trunc, "rint": torch.round, "reciprocal": torch.reciprocal, "negative": torch.neg,
    "degrees": torch.rad2deg, "radians": torch.deg2rad, "isnan": torch.isnan, "isinf": torch.isinf,
    "isfinite": torch.isfinite, "logical_not": torch.logical_not, "invert": torch.bitwise_not,
    "cbrt": lambda x: torch.sign(x) * x.abs().pow(1 / 3), "fabs": torch.abs, "deg2rad": torch.deg2rad,
    "rad2deg": torch.rad2deg, "isneginf": torch.isneginf, "isposinf": torch.isposinf,
}  # fmt: skip


def _pair(compute: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """A torch function of two tensors, of which either may be a number with the other's kind."""

    def function(x1: Any, x2: Any) -> Tensor:
        if not isinstance(x1, Tensor):
            x1 = torch.as_tensor(x1, dtype=x2.dtype if isinstance(x1, int) else None)
        if not isinstance(x2, Tensor):
            x2 = torch.as_tensor(x2, dtype=x1.dtype if isinstance(x2, int) else None)
        return compute(x1, x2)

    return function


_PAIRS: dict[str, Function] = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "true_divide": torch.div,
    "mod": torch.remainder, "remainder": torch.remainder, "power": torch.pow, "maximum": torch.maximum,
    "minimum": torch.minimum, "fmax": torch.fmax, "fmin": torch.fmin, "hypot": torch.hypot, "arctan2": torch.arctan2,
    "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le, "greater": torch.gt,
    "greater_equal": torch.ge, "logical_and": torch.logical_and, "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor, "matmul": torch.matmul, "outer": lambda a, b: torch.outer(a.ravel(), b.ravel()),
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor,
    "copysign": torch.copysign, "lcm": torch.lcm, "ldexp": lambda x, n: x * 2**n,
    "inner": torch.inner, "vdot": lambda a, b: torch.dot(a.ravel(), b.ravel()),
}  # fmt: skip


def _axes(axis: Sizes, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def _reduction(compute: Callable[..., Tensor], real: bool = False) -> Function:
    def function(
        a: Any, axis: Sizes = None, dtype: DtypeLike = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> Tensor:
        a = torch.as_tensor(a)
        if dtype is not None or (real and not a.is_floating_point()):
            a = a.to(torch_dtype(dtype))
        return compute(a, _axes(axis, a.dim()), keepdims, **options) if a.dim() else compute(a.reshape(1), (0,), False)

    return function


def _product(a: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    for axis in sorted((axis % a.dim() for axis in axes), reverse=True):
        a = torch.prod(a, axis, keepdim=keepdims)
    return a


_REDUCTIONS: dict[str, Function] = {
    "sum": _reduction(lambda a, axes, keep: torch.sum(a, axes, keepdim=keep)),
    "mean": _reduction(lambda a, axes, keep: torch.mean(a, axes, keepdim=keep), real=True),
    "prod": _reduction(_product),
    "max": _reduction(lambda a, axes, keep: torch.amax(a, axes, keepdim=keep)),
    "min": _reduction(lambda a, axes, keep: torch.amin(a, axes, keepdim=keep)),
    "std": _reduction(lambda a, axes, keep, ddof=0: torch.std(a, axes, correction=ddof, keepdim=keep), real=True),
    "var": _reduction(lambda a, axes, keep, ddof=0: torch.var(a, axes, correction=ddof, keepdim=keep), real=True),
    "all": _reduction(lambda a, axes, keep: torch.all((a != 0), axes, keepdim=keep)),
    "any": _reduction(lambda a, axes, keep: torch.any((a != 0), axes, keepdim=keep)),
}  # fmt: skip


def _place(compute: Callable[..., Tensor]) -> Function:
    return lambda a, axis=None, out=None, keepdims=False: (
        compute(a.reshape(-1), 0) if axis is None else compute(a, axis, keepdim=keepdims)
    )


def _repeat(a: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    return torch.repeat_interleave(a if axis is not None else a.reshape(-1), repeats, axis or 0)


def _squeeze(a: Tensor, axis: Sizes = None) -> Tensor:
    return a.squeeze() if axis is None else a.squeeze(_axes(axis, a.dim()))


def _take(a: Tensor, indices: Any, axis: int | None = None, mode: str = "clip", out: Any = None) -> Tensor:
    places = torch.as_tensor(indices).long()
    base, at = (a.reshape(-1), 0) if axis is None else (a, axis % a.dim())
    places = places % base.shape[at] if mode == "wrap" else places.clamp(0, base.shape[at] - 1)
    picked = base.index_select(at, places.reshape(-1))
    return picked.reshape(base.shape[:at] + places.shape + base.shape[at + 1 :])


def _dot(a: Tensor, b: Tensor, out: Any = None) -> Tensor:
    if not a.dim() or not b.dim():
        return a * b
    return torch.tensordot(a, b, ([-1], [max(b.dim() - 2, 0)]))


def _split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return list(torch.tensor_split(ary, indices_or_sections, axis))


def _unique(
    ar: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    values, inverse, counts = torch.unique(ar, return_inverse=True, return_counts=True, dim=axis)
    extra = [part for wanted, part in ((return_inverse, inverse), (return_counts, counts)) if wanted]
    return (values, *extra) if extra else values


def _pad(x: Tensor, pad_width: Any, mode: str = "constant", constant_values: float = 0) -> Tensor:
    pairs = torch.as_tensor(pad_width).expand(x.dim(), 2).flip(0).reshape(-1).tolist()
    return torch.nn.functional.pad(x, pairs, mode, constant_values)


def _clip(a: Tensor, a_min: Any, a_max: Any, out: Any = None) -> Tensor:
    return torch.clamp(a, a_min, a_max)


def _transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return a.permute(tuple(reversed(range(a.dim()))) if axes is None else tuple(axes))


def _concatenate(seq: Sequence[Tensor], axis: int | None = 0, out: Any = None) -> Tensor:
    return torch.cat(tuple(seq), axis) if axis is not None else torch.cat([part.reshape(-1) for part in seq])


def _tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Tensor:
    pairs = axes if isinstance(axes, int) else [[one] if isinstance(one, int) else list(one) for one in axes]
    return torch.tensordot(a, b, pairs)


def _like(make: Function) -> Function:
    def function(a: Tensor, *value: Any, dtype: DtypeLike = None, **_: Any) -> Tensor:
        return make(a, *value, dtype=None if dtype is None else torch_dtype(dtype))

    return function


def _where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    return torch.nonzero(condition, as_tuple=True) if x is None and y is None else torch.where(condition != 0, x, y)


def _average(a: Tensor, axis: Sizes = None, weights: Any = None, returned: bool = False) -> Any:
    whole = torch.ones_like(a) if weights is None else weights
    if whole.dim() < a.dim():  # one axis of weights
        whole = whole.reshape([-1 if place == axis else 1 for place in range(a.dim())]).expand_as(a)
    axes = _axes(axis, a.dim())
    total = whole.sum(axes)
    mean = (a * whole).sum(axes) / total
    return (mean, total) if returned else mean


def _steps(ary: Tensor, to_end: Any = None, to_begin: Any = None) -> Tensor:
    ends = [None if part is None else torch.as_tensor(part, dtype=ary.dtype).reshape(-1) for part in (to_begin, to_end)]
    return torch.cat([part for part in (ends[0], torch.diff(ary.reshape(-1)), ends[1]) if part is not None])


_OTHERS: dict[str, Function] = {
    "argmax": _place(torch.argmax), "argmin": _place(torch.argmin),
    "cumsum": lambda a, axis=None, dtype=None, out=None: torch.cumsum(a.reshape(-1) if axis is None else a, axis or 0),
    "reshape": lambda a, newshape, order="C": a.reshape(newshape), "ravel": lambda x, order="C": x.reshape(-1),
    "transpose": _transpose, "swapaxes": torch.swapaxes, "moveaxis": torch.moveaxis, "rollaxis": torch.moveaxis,
    "expand_dims": lambda a, axis: a.unsqueeze(axis), "squeeze": _squeeze, "split": _split,
    "array_split": lambda ary, indices_or_sections, axis=0: list(torch.tensor_split(ary, indices_or_sections, axis)),
    "concatenate": _concatenate,
    "stack": lambda arrays, axis=0, out=None: torch.stack(tuple(arrays), axis),
    "vstack": lambda arrays: torch.vstack(tuple(arrays)), "hstack": lambda arrays: torch.hstack(tuple(arrays)),
    "dstack": lambda arrays: torch.dstack(tuple(arrays)), "column_stack": lambda arrays: torch.column_stack(tuple(arrays)),
    "tile": lambda A, reps: torch.tile(A, (reps,) if isinstance(reps, int) else tuple(reps)), "repeat": _repeat,
    "flip": lambda m, axis=None: torch.flip(m, _axes(axis, m.dim())), "flipud": torch.flipud, "fliplr": torch.fliplr,
    "roll": lambda a, shift, axis=None: torch.roll(a, shift, axis), "rot90": lambda m, k=1, axes=(0, 1): torch.rot90(m, k, axes),
    "broadcast_to": lambda array, shape: array.broadcast_to(shape).contiguous(), "clip": _clip, "take": _take,
    "where": _where, "sort": lambda a, axis=-1, **_: torch.sort(a, dim=axis, stable=True).values,
    "argsort": lambda a, axis=-1, **_: torch.argsort(a, dim=axis, stable=True), "unique": _unique,
    "nonzero": lambda a: torch.nonzero(a, as_tuple=True), "dot": _dot,
    "tensordot": _tensordot,
    "einsum": lambda subscripts, *operands, **_: torch.einsum(subscripts, *operands),
    "trace": lambda a, **_: torch.trace(a), "diag": lambda v, k=0: torch.diag(v, k), "diagonal": torch.diagonal,
    "tril": lambda m, k=0: torch.tril(m, k), "triu": lambda m, k=0: torch.triu(m, k), "pad": _pad,
    "diff": lambda a, n=1, axis=-1: torch.diff(a, n, axis), "round": lambda x, decimals=0, **_: torch.round(x, decimals=decimals),
    "around": lambda x, decimals=0, **_: torch.round(x, decimals=decimals),
    "meshgrid": lambda *xi, indexing="xy", **_: list(torch.meshgrid(*xi, indexing=indexing)),
    "bincount": lambda x, weights=None, minlength=0: torch.bincount(x, weights, minlength),
    "zeros_like": _like(torch.zeros_like),
    "ones_like": _like(torch.ones_like),
    "full_like": _like(torch.full_like),
    "array_equal": lambda a, b: bool(torch.equal(a, b)), "copy": lambda a: a.clone(),
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8: bool(torch.allclose(a, b, rtol, atol)),
    "atleast_1d": torch.atleast_1d, "atleast_2d": torch.atleast_2d, "atleast_3d": torch.atleast_3d,
    "append": lambda arr, values, axis=None: _concatenate((arr, values), axis), "average": _average,
    "broadcast_arrays": lambda *args: [part.contiguous() for part in torch.broadcast_tensors(*args)],
    "diagflat": lambda v, k=0: torch.diagflat(v, k), "ediff1d": _steps, "hsplit": torch.hsplit, "vsplit": torch.vsplit,
    "dsplit": torch.dsplit, "nan_to_num": lambda x, copy=True, nan=0.0, posinf=None, neginf=None, **_: (
        torch.nan_to_num(x, nan, posinf, neginf)
    ),
    "polyval": lambda p, x: functools.reduce(lambda total, factor: total * x + factor, p.unbind(), torch.zeros_like(x)),
}  # fmt: skip
ALIASES = {
    "product": "prod", "round_": "round", "row_stack": "vstack", "sometrue": "any",
    "amax": "max", "amin": "min", "concat": "concatenate", "bitwise_not": "invert", "empty_like": "zeros_like",
}  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    **{name: _named(name, _real(compute)) for name, compute in _ELEMENTS.items()},
    **{name: _named(name, _pair(compute)) for name, compute in _PAIRS.items()},
    **{name: _named(name, compute) for name, compute in (*_REDUCTIONS.items(), *_OTHERS.items())},
}
FUNCTIONS.update({name: FUNCTIONS[of] for name, of in ALIASES.items()})


def array(object: Any, dtype: DtypeLike = None, ctx: ContextLike = None) -> Any:
    """A new array of values: float32 unless `dtype` says otherwise or the source is an array of MXNet or NumPy with one."""
    if isinstance(object, Array):
        kind = object._t.dtype if dtype is None else torch_dtype(dtype)
        context = object._ctx if ctx is None else as_context(ctx)
        return wrapped(object._t.detach().to(device=context.device, dtype=kind, copy=True), context)
    if isinstance(object, (list, tuple)) and any(isinstance(part, Array) for part in object):
        object = [plain(part).tolist() if isinstance(part, Array) else part for part in object]
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
    return made(lambda **kind: torch.zeros(_sizes(shape), **kind), ctx, dtype)


def ones(shape: Sizes, dtype: DtypeLike = None, order: str = "C", ctx: ContextLike = None) -> Any:
    """Ones."""
    return made(lambda **kind: torch.ones(_sizes(shape), **kind), ctx, dtype)


empty = zeros


def full(
    shape: Sizes, fill_value: Any, dtype: DtypeLike = None, order: str = "C", ctx: ContextLike = None, out: Any = None
) -> Any:
    """One value everywhere."""
    return (
        zeros(shape, dtype, ctx=ctx) + fill_value
        if dtype is None
        else made(lambda **kind: torch.full(_sizes(shape), fill_value, **kind), ctx, dtype)
    )


def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: DtypeLike = None, ctx: ContextLike = None
) -> Any:
    """Evenly spaced numbers below `stop`."""
    begin, end = (0, start) if stop is None else (start, stop)
    return made(lambda **kind: torch.arange(begin, end, step, **kind), ctx, dtype)


def linspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DtypeLike = None,
    axis: int = 0, ctx: ContextLike = None,
) -> Any:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop`."""
    values = onp.linspace(start, stop, num, endpoint)
    return array(values, dtype or "float32", ctx)


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


def size(a: Any) -> int:
    """The number of elements."""
    return asarray(a).size


MAKERS = {
    "arange": arange, "array": array, "asarray": asarray, "empty": empty, "eye": eye, "full": full, "genfromtxt": genfromtxt,
    "identity": identity, "linspace": linspace, "ndim": ndim, "ones": ones, "shape": shape, "size": size, "zeros": zeros,
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # The table's names are no globals of this file, whose code means Python's own `any`, `max` and `sum`.
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"mx.np has no function {name!r}", name=name)


__all__ = [*FUNCTIONS, *MAKERS]
