"""The functions of `mx.np`, as rows of tables of torch functions."""

import functools
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from anygru.extend import bound

from ..base import DtypeLike, MXNetError, Sizes, torch_dtype
from ..context import as_context
from ..operators.arithmetic import BINARY, whole_of
from ..operators.elementwise import round_half_down
from ..operators.reduce import extreme
from .apply import apply
from .shaping import SHAPING, check_supported

Function = Callable[..., Any]


# Arguments that have no effect if they are None, for any function.
_MAY_BE_NONE = frozenset({"out", "initial", "where", "ctx"})


def _named(name: str, compute: Function, place: int | None = None) -> Function:
    """The function of arrays for a row of a table. `out` is its argument at `place`, or at its position in the row's function."""
    beside = place is not None
    if place is None:
        place = _place_of_out(compute)

    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place:
            kwargs["out"] = args[place]
            args = (*args[:place], *[None] * (not beside), *args[place + 1 :])
        kwargs = {key: value for key, value in kwargs.items() if value is not None or key not in _MAY_BE_NONE}
        try:
            return apply(compute, *args, **kwargs)
        except MXNetError as error:
            if isinstance(error.__cause__, TypeError):
                _bound(name, compute, args, kwargs)
            raise

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` of arrays."
    return function


def _place_of_out(compute: Function) -> int:
    try:
        names = list(inspect.signature(compute).parameters)
    except ValueError:  # torch's functions have no signature
        names = []
    return names.index("out") if "out" in names else sys.maxsize


def _bound(name: str, compute: Function, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise Python's TypeError for arguments that a function does not have."""
    try:
        form = inspect.signature(compute)
    except ValueError:  # torch's functions have no signature
        return
    bound(form, name, args, kwargs)


def _is_integer(x: Any) -> bool:
    """Whether x is a tensor of integers (not booleans)."""
    return isinstance(x, Tensor) and not x.is_floating_point() and x.dtype != torch.bool


def _truncating(compute: Callable[..., Tensor]) -> Function:
    """A function of real numbers. For an array of integers the results are truncated to its dtype (1.9.1, recorded)."""

    def function(x: Any, *others: Any) -> Tensor:
        if not isinstance(x, Tensor):
            return compute(torch.as_tensor(x), *others)
        found = compute(x, *others)
        return (
            whole_of(compute(x.double(), *others), x.dtype) if _is_integer(x) and found.is_floating_point() else found
        )

    return function


_ELEMENTS: dict[str, Function] = {
    "abs": torch.abs, "absolute": torch.abs, "exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2,
    "log10": torch.log10, "log1p": torch.log1p, "sqrt": torch.sqrt, "square": torch.square, "sin": torch.sin,
    "cos": torch.cos, "tan": torch.tan, "arcsin": torch.arcsin, "arccos": torch.arccos, "arctan": torch.arctan,
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "arcsinh": torch.arcsinh, "arccosh": torch.arccosh,
    "arctanh": torch.arctanh, "sign": torch.sign, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
    "fix": torch.trunc, "rint": round_half_down, "reciprocal": torch.reciprocal, "negative": torch.neg,
    "degrees": torch.rad2deg, "radians": torch.deg2rad, "isnan": torch.isnan, "isinf": torch.isinf,
    "isfinite": torch.isfinite, "logical_not": torch.logical_not, "invert": torch.bitwise_not,
    "cbrt": lambda x: torch.sign(x) * x.abs().pow(1 / 3), "fabs": torch.abs, "deg2rad": torch.deg2rad,
    "rad2deg": torch.rad2deg, "isneginf": torch.isneginf, "isposinf": torch.isposinf,
}  # fmt: skip
ELEMENTS = {name: _truncating(compute) for name, compute in _ELEMENTS.items()}


def _pair(compute: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """A torch function of two tensors, or of a tensor and a number, which gets the dtype of the tensor."""

    def function(x1: Any, x2: Any) -> Tensor:
        if not isinstance(x1, Tensor):
            x1 = torch.as_tensor(x1, dtype=x2.dtype if isinstance(x1, int) else None)
        if not isinstance(x2, Tensor):
            x2 = torch.as_tensor(x2, dtype=x1.dtype if isinstance(x2, int) else None)
        return compute(x1, x2)

    return function


def _array_first(compute: Callable[[Any, Any], Tensor]) -> Function:
    """A commutative function. If an element equals the number, the array gets the gradient."""
    return lambda x1, x2: compute(x1, x2) if isinstance(x1, Tensor) else compute(x2, x1)


_PAIRS: dict[str, Function] = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "true_divide": torch.div,
    "mod": BINARY["mod"], "remainder": BINARY["mod"], "power": torch.pow,
    "fmax": torch.fmax, "fmin": torch.fmin, "hypot": torch.hypot, "arctan2": torch.arctan2,
    "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le, "greater": torch.gt,
    "greater_equal": torch.ge, "logical_and": torch.logical_and, "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor, "matmul": torch.matmul, "outer": lambda a, b: torch.outer(a.ravel(), b.ravel()),
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor,
    "copysign": _truncating(torch.copysign), "lcm": torch.lcm, "ldexp": lambda x, n: x * 2**n,
    "inner": torch.inner, "vdot": lambda a, b: torch.dot(a.ravel(), b.ravel()),
}  # fmt: skip


def _axes(axis: Sizes, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def _reduction(compute: Callable[..., Tensor], real: bool = False) -> Function:
    def function(
        a: Any, axis: Sizes = None, dtype: DtypeLike = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> Tensor:
        a = torch.as_tensor(a)
        # A sum of int32 is int32 (MXNet 1.9.1, observed), and int64 in torch.
        kind = torch_dtype(dtype) if dtype is not None else a.dtype if _is_integer(a) and not real else None
        if dtype is not None or (real and not a.is_floating_point()):
            a = a.to(torch_dtype(dtype))
        axes = _axes(axis, a.dim()) if a.dim() else ()  # torch takes no axes for all axes
        found = compute(a, axes, keepdims, **options) if axes else compute(a.unsqueeze(0), (0,), False)
        return found if kind is None or found.dtype in (kind, torch.bool) else found.to(kind)

    return function


def _extreme(compute: Callable[..., Tensor]) -> Function:
    """A reduction without `dtype`."""
    reduce = _reduction(compute)
    return lambda a, axis=None, out=None, keepdims=False: reduce(a, axis, keepdims=keepdims)


def _deviation(root: bool) -> Function:
    """`std` and `var`. For integers the mean and the result are truncated (1.9.1, recorded)."""

    def function(
        a: Any, axis: Sizes = None, dtype: DtypeLike = None, out: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> Tensor:
        kind = torch_dtype(dtype) if dtype is not None else a.dtype if a.dtype != torch.bool else torch.float32
        data = (a if a.dim() else a.reshape(1)).to(
            torch.float64 if _is_integer(a) else torch.promote_types(a.dtype, kind)
        )
        axes = _axes(axis if a.dim() else None, data.dim())
        mean = data.mean(axes, keepdim=True)
        away = data - (mean.trunc() if _is_integer(a) else mean)
        count = math.prod(data.shape[place] for place in axes)
        spread = (away * away).sum(axes, keepdim=keepdims) / (count - ddof)
        spread = spread.sqrt() if root else spread
        return spread.to(kind) if kind.is_floating_point else whole_of(spread, kind)

    return function


def _product(a: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    for axis in sorted((axis % a.dim() for axis in axes), reverse=True):
        a = torch.prod(a, axis, keepdim=keepdims)
    return a


REDUCTIONS: dict[str, Function] = {
    "sum": _reduction(lambda a, axes, keep: torch.sum(a, axes, keepdim=keep)),
    "mean": _reduction(  # 0 of no elements, as in MXNet 1.9.1 (recorded)
        lambda a, axes, keep: (torch.mean if a.numel() else torch.sum)(a, axes, keepdim=keep), real=True
    ),
    "prod": _reduction(_product),
    "max": _extreme(extreme(True)),
    "min": _extreme(extreme(False)),
    "std": _deviation(True),
    "var": _deviation(False),
    "all": _extreme(lambda a, axes, keep: torch.all((a != 0), axes, keepdim=keep)),
    "any": _extreme(lambda a, axes, keep: torch.any((a != 0), axes, keepdim=keep)),
}  # fmt: skip


def _place(compute: Callable[..., Tensor]) -> Function:
    return lambda a, axis=None, out=None: compute(a.reshape(-1), 0) if axis is None else compute(a, axis)


def _repeat(a: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    return torch.repeat_interleave(a if axis is not None else a.reshape(-1), repeats, axis or 0)


def _dot(a: Tensor, b: Tensor, out: Any = None) -> Tensor:
    if not a.dim() or not b.dim():
        return a * b
    return torch.tensordot(a, b, ([-1], [max(b.dim() - 2, 0)]))


def _clip(a: Tensor, a_min: Any, a_max: Any, out: Any = None) -> Tensor:
    if a_min is not None and a_max is not None and a_min > a_max:  # the upper bound takes precedence (1.9.1, recorded)
        return torch.where(a > a_max, a_max, a_min).to(a.dtype)
    return torch.clamp(a, a_min, a_max)


def _cumsum(a: Tensor, axis: int | None = None, dtype: DtypeLike = None, out: Any = None) -> Tensor:
    kind = torch_dtype(dtype) if dtype is not None else a.dtype if _is_integer(a) else None
    return torch.cumsum(a.reshape(-1) if axis is None else a, axis or 0, dtype=kind)


def _round(x: Tensor, decimals: int = 0, out: Any = None) -> Tensor:
    return x if _is_integer(x) else torch.round(x, decimals=decimals)


def _transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return a.permute(tuple(reversed(range(a.dim()))) if axes is None else tuple(axes))


def _tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Tensor:
    pairs = axes if isinstance(axes, int) else [[one] if isinstance(one, int) else list(one) for one in axes]
    return torch.tensordot(a, b, pairs)


def _filled_like(make: Function) -> Function:
    """`zeros_like` and similar functions. `subok` and `shape` must have their defaults."""

    def function(
        a: Tensor,
        *value: Any,
        dtype: DtypeLike = None,
        order: str = "C",
        subok: bool = False,
        shape: Any = None,
        ctx: Any = None,
    ) -> Tensor:
        check_supported("order", order, "C")
        check_supported("subok", subok, False)
        check_supported("shape", shape, None)
        device = None if ctx is None else as_context(ctx).device
        return make(a, *value, dtype=None if dtype is None else torch_dtype(dtype), device=device)

    return function


def _where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    return torch.nonzero(condition, as_tuple=True) if x is None and y is None else torch.where(condition != 0, x, y)


def _average(a: Tensor, axis: Sizes = None, weights: Any = None, returned: bool = False) -> Any:
    whole = torch.ones_like(a) if weights is None else weights
    if whole.dim() < a.dim():  # the weights have one axis
        whole = whole.reshape([-1 if place == axis else 1 for place in range(a.dim())]).expand_as(a)
    axes = _axes(axis, a.dim())
    total = whole.sum(axes)
    mean = (a * whole).sum(axes) / total
    mean = whole_of(mean, a.dtype) if _is_integer(a) and _is_integer(whole) else mean
    if weights is not None and weights.dim() < a.dim():
        total = weights.sum()  # MXNet 1.9.1, recorded
    return [mean, total] if returned else mean


def _bincount(x: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    found = torch.bincount(x, weights, minlength)
    return found.to(x.dtype) if weights is None else found


def _replacing(function: Function) -> Function:
    """`nan_to_num`, which writes into the array itself with `copy=False`."""

    def nan_to_num(x: Any, copy: bool = True, *values: Any, **options: Any) -> Any:
        return function(x, *values, **options) if copy else function(x, *values, out=x, **options)

    nan_to_num.__doc__ = function.__doc__
    return nan_to_num


def _steps(ary: Tensor, to_end: Any = None, to_begin: Any = None) -> Tensor:
    like: dict[str, Any] = {"dtype": ary.dtype, "device": ary.device}
    ends = [None if part is None else torch.as_tensor(part, **like).reshape(-1) for part in (to_begin, to_end)]
    return torch.cat([part for part in (ends[0], torch.diff(ary.reshape(-1)), ends[1]) if part is not None])


_OTHERS: dict[str, Function] = {
    "argmax": _place(torch.argmax), "argmin": _place(torch.argmin),
    "cumsum": _cumsum,
    "transpose": _transpose, "swapaxes": torch.swapaxes, "moveaxis": torch.moveaxis,
    "expand_dims": lambda a, axis: a.unsqueeze(axis),
    "stack": lambda arrays, axis=0, out=None: torch.stack(tuple(arrays), axis),
    "vstack": lambda arrays: torch.vstack(tuple(arrays)), "hstack": lambda arrays: torch.hstack(tuple(arrays)),
    "dstack": lambda arrays: torch.dstack(tuple(arrays)), "column_stack": lambda arrays: torch.column_stack(tuple(arrays)),
    "tile": lambda A, reps: torch.tile(A, (reps,) if isinstance(reps, int) else tuple(reps)), "repeat": _repeat,
    "flip": lambda m, axis=None: torch.flip(m, _axes(axis, m.dim())), "flipud": torch.flipud, "fliplr": torch.fliplr,
    "roll": lambda a, shift, axis=None: torch.roll(a, shift, axis), "rot90": lambda m, k=1, axes=(0, 1): torch.rot90(m, k, axes),
    "broadcast_to": lambda array, shape: array.broadcast_to(shape).contiguous(), "clip": _clip,
    "where": _where,
    "nonzero": lambda a: torch.nonzero(a, as_tuple=True), "dot": _dot,
    "tensordot": _tensordot,
    "einsum": lambda subscripts, *operands, optimize=False: torch.einsum(subscripts, *operands),
    "diag": lambda v, k=0: torch.diag(v, k), "tril": lambda m, k=0: torch.tril(m, k), "triu": lambda m, k=0: torch.triu(m, k),
    "diff": lambda a, n=1, axis=-1: torch.diff(a, n, axis), "round": _round, "around": _round,
    "bincount": _bincount,
    "zeros_like": _filled_like(torch.zeros_like),
    "ones_like": _filled_like(torch.ones_like),
    "full_like": _filled_like(torch.full_like),
    "array_equal": lambda a, b: bool(torch.equal(a, b)), "copy": lambda a: a.clone(),
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8: bool(torch.allclose(a, b, rtol, atol)),
    "atleast_1d": torch.atleast_1d, "atleast_2d": torch.atleast_2d, "atleast_3d": torch.atleast_3d,
    "average": _average,
    "broadcast_arrays": lambda *args: [part.contiguous() for part in torch.broadcast_tensors(*args)],
    "diagflat": lambda v, k=0: torch.diagflat(v, k), "ediff1d": _steps,
    "nan_to_num": lambda x, nan=0.0, posinf=None, neginf=None: torch.nan_to_num(x, nan, posinf, neginf),
    "polyval": lambda p, x: functools.reduce(lambda total, factor: total * x + factor, p.unbind(), torch.zeros_like(x)),
}  # fmt: skip
ALIASES = {
    "product": "prod", "round_": "round", "row_stack": "vstack", "sometrue": "any",
    "amax": "max", "amin": "min", "concat": "concatenate", "bitwise_not": "invert", "empty_like": "zeros_like",
}  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    **{name: _named(name, compute, 1) for name, compute in ELEMENTS.items()},
    **{name: _named(name, _pair(compute), 2) for name, compute in _PAIRS.items()},
    **{name: _named(name, _array_first(BINARY[name]), 2) for name in ("maximum", "minimum")},
    **{name: _named(name, compute) for name, compute in (*REDUCTIONS.items(), *_OTHERS.items(), *SHAPING.items())},
}
FUNCTIONS["nan_to_num"] = _replacing(FUNCTIONS["nan_to_num"])
FUNCTIONS.update({name: FUNCTIONS[of] for name, of in ALIASES.items()})


def __getattr__(name: str) -> Any:
    # The names in the table are not globals, because the code of this module uses Python's `any`, `max` and `sum`.
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"mx.np has no function {name!r}", name=name)


__all__ = list(FUNCTIONS)
