"""Operations that overwrite their tensor: `x.add_(y)`, `x.zero_()` ...

Each computes the function without the underscore, then binds the tensor to the result: its values, its shape and
dtype, its step of the gradient graph. Every change counts in `inplace_version`. A leaf that gets gradients cannot be
overwritten.
"""

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd.graph import increment_version

from anygru.extend import leave_graph

from ..framework.dtype import single, torch_dtype
from . import creation, linalg, logic, manipulation, math, ops, pairs, random, reduction, search, selection, special
from .kernels import lacking
from .operation import as_torch, need_tensor, plain, translate, wrap

if TYPE_CHECKING:
    from .tensor import Tensor

_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_shape = torch.Tensor.shape.__get__  # type: ignore[attr-defined]


def refuse_leaf(x: "Tensor") -> None:
    """Raise Paddle's ValueError if `x` is a leaf that gets gradients."""
    if x.is_leaf and x.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"(InvalidArgument) Leaf Tensor ({x.name}) that doesn't stop gradient can't use inplace strategy."
        )


def _is_recorded(value: torch.Tensor) -> bool:
    return value.requires_grad and torch.is_grad_enabled()


def _replace(x: torch.Tensor, value: torch.Tensor) -> None:
    """Give `x` the memory, shape and dtype of `value`; its own step of the gradient graph goes."""
    recorded = torch.is_grad_enabled() or not value.is_floating_point()
    if x.requires_grad and x.is_leaf and not value.is_floating_point():
        torch.Tensor.requires_grad_(x, False)
    elif x.requires_grad and recorded and not x.is_leaf:
        leave_graph(x)
    x.data = plain(value.detach())


def overwrite(x: "Tensor", value: torch.Tensor) -> "Tensor":
    """Put `value` into the place of `x`, shape, dtype and gradient graph included."""
    if value.is_floating_point():
        refuse_leaf(x)
    try:
        if _shape(value) == _shape(x) and _dtype(value) == _dtype(x):
            torch.Tensor.copy_(x, value)  # into the same memory, which views of x share
        elif _is_recorded(value):
            # The copy is the graph's step through which the gradient of `value` flows.
            _replace(x, torch.empty_like(value))
            torch.Tensor.copy_(x, value)
        else:
            _replace(x, value)
            increment_version(x)
    except RuntimeError as error:
        raise translate(error, "overwrite") from error
    if value.is_floating_point():
        x.__dict__.pop("_stop_gradient", None)
    return x


def _keep_gradient(x: "Tensor", value: torch.Tensor) -> "Tensor":
    """Put the values of an operation without a gradient in place; the gradient of `x` passes it by (recorded, 2.6.2)."""
    with torch.no_grad():
        overwrite(x, value)
    if not value.is_floating_point():
        x.__dict__["_stop_gradient"] = False  # as in Paddle; here no gradient passes through integers
    return x


def _reformed(x: "Tensor", function: Callable[..., torch.Tensor], args: Any, kwargs: Any) -> "Tensor | None":
    """`x` itself in another form of the same memory; None where the form asks for a copy."""
    if function is manipulation.flatten and not x.ndim:  # the function takes them, the method not (recorded, 2.6.2)
        raise ValueError("The start_axis should be a int, and in range [-rank(x), rank(x)), but x has no axes")
    if function is linalg.t and x.ndim < 2:  # nothing changes, and no change is counted
        return x
    value = function(wrap(torch.Tensor.detach(x)), *args, **kwargs)
    # The forms of a tensor without axes may be copies, but any form fits its memory.
    if x.ndim and value.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        return None
    offset = value.storage_offset() if x.ndim else x.storage_offset()
    try:
        torch.Tensor.as_strided_(x, _shape(value), value.stride(), offset)
    except RuntimeError as error:
        raise translate(error, function.__name__) from error
    return x


def _refuse_growth(x: "Tensor", others: list[torch.Tensor]) -> None:
    """Raise Paddle's ValueError if the result would broadcast to another shape than the shape of `x`."""
    for other in others:
        if _shape(other) != _shape(x) and (grown := math.broadcast_shape(_shape(x), _shape(other))) != list(_shape(x)):
            raise ValueError(
                f"The shape of broadcast output {grown} is different from that of inplace tensor {list(_shape(x))} in the "
                "Inplace operation."
            )


def in_place(function: Callable[..., torch.Tensor], called: str) -> "Callable[..., Tensor]":
    """The method `called` that stores the result of `function` in its first argument."""
    name = function.__name__
    further = _FURTHER_COUNTS.get(name, 0)

    def method(x: "Tensor", *args: Any, **kwargs: Any) -> "Tensor":
        need_tensor(x, "x", called)
        x = wrap(x)
        others = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
        if name in _OF_ONE_SHAPE:
            _refuse_growth(x, others)
        if name not in _TRUTHS:  # they have no gradient, and Paddle 2.6.2 lets them overwrite a leaf (recorded)
            refuse_leaf(x)
        if name in _FORMS and (reformed := _reformed(x, function, args, kwargs)) is not None:
            return reformed
        before = x
        if any(map(_is_recorded, (x, *others))):
            before = wrap(torch.clone(x))  # the gradient may need the value that is overwritten
        if name in _ARITHMETIC and others and _dtype(others[0]) != _dtype(x):
            # The result has the dtype of the other tensor (recorded). Paddle 2.6.2 takes the bytes of x for numbers of that
            # dtype; these are cast.
            before = wrap(torch.Tensor.to(before, _dtype(others[0])))
        value = function(before, *args, **kwargs)
        for _ in range(further if x.ndim else 0):
            increment_version(x)
        return _keep_gradient(x, value) if _is_recorded(x) and not value.requires_grad else overwrite(x, value)

    method.__name__ = method.__qualname__ = called
    method.__doc__ = f"`{name}`, with the result stored in the tensor."
    return method


_TRUTHS = {
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "equal", "greater_equal", "greater_than", "less_equal", "less_than", "logical_and", "logical_not", "logical_or",
    "logical_xor", "not_equal",
}  # fmt: skip
_FORMS = {"flatten", "reshape", "squeeze", "t", "transpose", "unsqueeze"}
_ARITHMETIC = {"add", "divide", "floor_divide", "multiply", "remainder", "subtract"}
_OF_ONE_SHAPE = _TRUTHS | _ARITHMETIC | {"_lerp", "gcd", "hypot", "lcm", "ldexp", "masked_fill"}
# Paddle 2.6.2 composes these of several operations in place, and counts each (recorded).
_FURTHER_COUNTS = {"gcd": 2, "hypot": 2, "ldexp": 1, "masked_fill": 1, "nan_to_num": 2}
_FUNCTIONS: dict[ModuleType, str] = {
    ops: """abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfinv exp expm1 floor frac i0 lgamma log log10
        log1p log2 neg reciprocal round rsqrt sigmoid sin sinh sqrt square tan tanh trunc""",
    math: "addmm clip divide ldexp logit multiply nan_to_num pow renorm scale subtract",
    pairs: "floor_divide floor_mod gcd hypot lcm mod remainder",
    logic: """bitwise_and bitwise_not bitwise_or bitwise_xor equal greater_equal greater_than less_equal less_than logical_and
        logical_not logical_or logical_xor not_equal""",
    reduction: "cumprod cumsum",
    manipulation: "cast flatten reshape squeeze transpose unsqueeze",
    selection: "index_add index_fill index_put masked_fill put_along_axis scatter",
    linalg: "t",
    creation: "tril triu",
    special: "fill_diagonal_tensor multigammaln polygamma",
}
# Tensors alone have these; `paddle.add_` and similar functions do not exist in 2.6.2.
_METHODS_ONLY = {
    "add_", "ceil_", "clip_", "erfinv_", "exp_", "exponential_", "fill_", "fill_diagonal_", "fill_diagonal_tensor_",
    "flatten_", "floor_", "lerp_", "put_along_axis_", "reciprocal_", "round_", "rsqrt_", "scale_", "sigmoid_",
    "sqrt_", "subtract_", "uniform_", "zero_",
}  # fmt: skip


_add_recorded = in_place(math.add, "add_")


def _add(x: "Tensor", y: Any, name: str | None = None, *, alpha: Any = 1) -> "Tensor":
    """x + y in place; torch's optimizers also call it."""
    if torch.is_grad_enabled() or not isinstance(y, torch.Tensor) or _dtype(y) != _dtype(x):
        # Paddle's rules for numbers, dtypes and leaves; without gradients and with one dtype torch's method does the same.
        return _add_recorded(x, y, alpha=alpha)
    torch.Tensor.add_(x, y, alpha=alpha)
    return x


def _where(condition: torch.Tensor, x: Any = None, y: Any = None, name: str | None = None) -> "Tensor":
    """`where`, with the result stored in x."""
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    refuse_leaf(x)
    before = wrap(torch.clone(x)) if torch.is_grad_enabled() else x
    return overwrite(x, search.where(condition, before, y))


def zero_(x: "Tensor") -> "Tensor":
    """Zeros in place."""
    return fill_(x, 0)


def fill_(x: "Tensor", value: Any) -> "Tensor":
    """One value everywhere, in place."""
    number = value.item() if isinstance(value, torch.Tensor) else value
    return overwrite(x, torch.full_like(x, number, dtype=torch_dtype(x.dtype)))


def _diagonal(shape: list[int], offset: int, wrap: bool) -> torch.Tensor:
    """Which elements `fill_diagonal_` fills, bool.

    Paddle 2.6.2 steps through the memory by the sum of all strides, of a matrix without `wrap` through the first n * n
    elements,
    where n is the length of a row, and leaves out positions that `offset` moves beyond the second axis (recorded).
    """
    count, row = int(np.prod(shape)), shape[1]
    step = sum(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    places = np.arange(0, count if wrap or len(shape) > 2 else min(count, row * row), max(step, 1))
    kept = places[(places % row + offset >= 0) & (places % row + offset < row)] + offset if row else places[:0]
    filled = torch.zeros(count, dtype=torch.bool)
    filled[torch.from_numpy(kept[(kept >= 0) & (kept < count)])] = True
    return filled.reshape(shape)


def fill_diagonal_(x: "Tensor", value: float, offset: int = 0, wrap: bool = False, name: str | None = None) -> "Tensor":
    """One value along the diagonal of all axes, in place; with `wrap` a long matrix has several diagonals, stacked."""
    if x.ndim < 2:
        unfit = ValueError(f"(InvalidArgument) fill_diagonal_(): x must have two axes or more, got shape {x.shape}")
        raise lacking("fill_diagonal_", x) or unfit
    before = torch.clone(x) if _is_recorded(x) else x
    return overwrite(x, torch.masked_fill(before, _diagonal(x.shape, offset, wrap).to(x.device), value))


def uniform_(x: "Tensor", min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None) -> "Tensor":
    """Numbers evenly from `min` to `max`, in place."""
    return overwrite(x, random.uniform(x.shape, x.dtype, min, max, seed))


def normal_(x: "Tensor", mean: float = 0.0, std: float = 1.0, name: str | None = None) -> "Tensor":
    """Normal numbers, in place."""
    return overwrite(x, random.normal_values(x.shape, mean, std, torch_dtype(x.dtype)))


def exponential_(x: "Tensor", lam: float = 1.0, name: str | None = None) -> "Tensor":
    """Exponentially distributed numbers of rate `lam`, in place."""
    draws = random.uniform_values(x.shape, 0.0, 1.0, torch_dtype(x.dtype))
    # By inversion of the distribution, as in Paddle 2.6.2 (recorded); the rate is float32 in its kernel.
    return overwrite(x, as_torch(-np.log1p(-draws.numpy()) / np.asarray(single(lam), draws.numpy().dtype)))


def _lerp(x: "Tensor", y: torch.Tensor, weight: Any, name: str | None = None) -> torch.Tensor:
    """`lerp`. Paddle 2.6.2 makes a list of a number: a tensor without axes is then one of shape [1] (recorded)."""
    return math.lerp(x, y, torch.full([1], weight, dtype=_dtype(x)) if isinstance(weight, float) else weight)


INPLACE: "dict[str, Callable[..., Tensor]]" = {
    f"{name}_": in_place(getattr(module, name), f"{name}_")
    for module, names in _FUNCTIONS.items()
    for name in names.split()
}
INPLACE |= {
    "add_": _add, "lerp_": in_place(_lerp, "lerp_"), "where_": _where, "zero_": zero_, "fill_": fill_, "normal_": normal_,
    "fill_diagonal_": fill_diagonal_, "uniform_": uniform_, "exponential_": exponential_,
}  # fmt: skip
globals().update(INPLACE)
__all__ = sorted(INPLACE.keys() - _METHODS_ONLY)
