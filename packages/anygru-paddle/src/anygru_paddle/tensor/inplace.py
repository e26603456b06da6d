"""Operations that overwrite their tensor: `x.add_(y)`, `x.zero_()` ...

Each computes what the function without the underscore computes. A leaf that gets gradients cannot be overwritten.
"""

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..framework.dtype import single, torch_dtype
from ..framework.kinds import Operand
from . import creation, linalg, logic, manipulation, math, ops, random, reduction, search, selection, special
from .operation import as_torch, need_tensor, translate, wrap

if TYPE_CHECKING:
    from .tensor import Tensor


def overwrite(x: "Tensor", value: torch.Tensor) -> "Tensor":
    """Put `value` into the place of `x`, shape and gradient graph included."""
    if x.is_leaf and x.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"(InvalidArgument) Leaf Tensor ({x.name}) that doesn't stop gradient can't use inplace strategy."
        )
    try:
        if list(value.shape) == x.shape and value.dtype == x.dtype:
            torch.Tensor.copy_(x, value)
        else:
            x.data = value.detach().as_subclass(torch.Tensor)
            if value.requires_grad and torch.is_grad_enabled():
                torch.Tensor.copy_(x, value)
    except RuntimeError as error:
        raise translate(error, "overwrite") from error
    return x


def _inplace(function: Callable[..., torch.Tensor], called: str) -> "Callable[..., Tensor]":
    def method(x: "Tensor", *args: Any, **kwargs: Any) -> "Tensor":
        need_tensor(x, "x", method.__name__)
        recorded = torch.is_grad_enabled() and x.requires_grad and not x.is_leaf
        before = wrap(torch.clone(x)) if recorded else x  # the gradient may need the value that is overwritten
        return overwrite(x, function(before, *args, **kwargs))

    method.__name__ = method.__qualname__ = called
    method.__doc__ = f"`{function.__name__}`, the result put in place of the tensor."
    return method


_FUNCTIONS: dict[ModuleType, str] = {
    ops: """abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfinv exp expm1 floor frac i0 lgamma log log10
        log1p log2 neg reciprocal round rsqrt sigmoid sin sinh sqrt square tan tanh trunc""",
    math: """addmm clip divide floor_divide floor_mod gcd hypot lcm ldexp lerp logit mod multiply nan_to_num pow
        remainder renorm scale subtract""",
    logic: """bitwise_and bitwise_not bitwise_or bitwise_xor equal greater_equal greater_than less_equal less_than logical_and
        logical_not logical_or logical_xor not_equal""",
    reduction: "cumprod cumsum",
    manipulation: "cast flatten reshape squeeze transpose unsqueeze",
    selection: "index_add index_fill index_put masked_fill put_along_axis scatter",
    linalg: "t",
    creation: "tril triu",
    special: "multigammaln polygamma",
}
# Tensors alone have these; `paddle.add_` and similar functions do not exist in 2.6.2.
_METHODS_ONLY = {
    "add_", "ceil_", "clip_", "erfinv_", "exp_", "exponential_", "fill_", "fill_diagonal_", "flatten_", "floor_",
    "lerp_", "put_along_axis_", "reciprocal_", "round_", "rsqrt_", "scale_", "sigmoid_", "sqrt_", "subtract_",
    "uniform_", "zero_",
}  # fmt: skip


def _add(x: "Tensor", y: Any, name: str | None = None, *, alpha: Any = 1) -> "Tensor":
    """x + y in place; torch's optimizers call it too."""
    if torch.is_grad_enabled() or not isinstance(y, torch.Tensor):
        return overwrite(x, math.add(x, y, alpha=alpha))
    torch.Tensor.add_(x, y, alpha=alpha)
    return x


def _where(condition: torch.Tensor, x: "Tensor", y: Operand, name: str | None = None) -> "Tensor":
    """`where`, the result put in place of x."""
    return overwrite(x, search.where(condition, x, y))


def zero_(x: "Tensor") -> "Tensor":
    """Zeros in place."""
    return fill_(x, 0)


def fill_(x: "Tensor", value: Any) -> "Tensor":
    """One value everywhere, in place."""
    number = value.item() if isinstance(value, torch.Tensor) else value
    return overwrite(x, torch.full_like(x, number, dtype=torch_dtype(x.dtype)))


def fill_diagonal_(x: "Tensor", value: float, offset: int = 0, wrap: bool = False, name: str | None = None) -> "Tensor":
    """One value along the diagonal, in place; of more than two axes, which must be equal, along that of all of them."""
    places = torch.zeros(x.shape, dtype=torch.bool, device=x.device)
    if offset:
        torch.diagonal(places, offset).fill_(True)
    else:
        places.fill_diagonal_(True, wrap)
    recorded = torch.is_grad_enabled() and x.requires_grad and not x.is_leaf
    return overwrite(x, torch.masked_fill(torch.clone(x) if recorded else x, places, value))


def uniform_(x: "Tensor", min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None) -> "Tensor":
    """Numbers evenly from `min` to `max`, in place."""
    return overwrite(x, random.uniform(x.shape, x.dtype, min, max, seed))


def normal_(x: "Tensor", mean: float = 0.0, std: float = 1.0, name: str | None = None) -> "Tensor":
    """Normal numbers, in place."""
    return overwrite(x, random.normal_values(x.shape, mean, std, torch_dtype(x.dtype)))


def exponential_(x: "Tensor", lam: float = 1.0, name: str | None = None) -> "Tensor":
    """Exponentially distributed numbers of rate `lam`, in place."""
    draws = random.uniform_values(x.shape, 0.0, 1.0, torch_dtype(x.dtype))
    return overwrite(x, as_torch(-np.log1p(-draws.numpy()) / np.asarray(single(lam), draws.numpy().dtype)))


INPLACE: "dict[str, Callable[..., Tensor]]" = {
    f"{name}_": _inplace(getattr(module, name), f"{name}_")
    for module, names in _FUNCTIONS.items()
    for name in names.split()
}
INPLACE |= {
    "add_": _add, "where_": _where, "zero_": zero_, "fill_": fill_, "fill_diagonal_": fill_diagonal_, "uniform_": uniform_,
    "normal_": normal_, "exponential_": exponential_,
}  # fmt: skip
globals().update(INPLACE)
__all__ = sorted(INPLACE.keys() - _METHODS_ONLY)
