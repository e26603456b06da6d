"""Torch functions on the arrays of `mx.np`."""

from collections.abc import Callable
from typing import Any

import numpy as onp
import torch
from torch import Tensor

from ..base import engine_errors, torch_dtype
from ..context import Context, ContextLike, as_context
from ..ndarray.array import Array, run, wrap


def wrapped(tensor: Tensor, ctx: Context) -> Any:
    """A tensor as an array of `mx.np`, independent of `npx.set_np`."""
    return wrap(tensor, ctx, True)


def to_tensors(value: Any) -> Any:
    """A value with arrays converted to tensors, also in lists and tuples."""
    if isinstance(value, Array):
        return value._t
    if isinstance(value, onp.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, onp.generic):
        return value.item()
    if isinstance(value, (list, tuple)) and any(isinstance(part, (Array, list, tuple)) for part in value):
        return type(value)(to_tensors(part) for part in value)
    return value


def context_of(values: Any) -> Context | None:
    """The context of the first array among values, also in lists and tuples."""
    for value in values:
        found = context_of(value) if isinstance(value, (list, tuple)) else getattr(value, "_ctx", None)
        if found is not None:
            return found
    return None


def apply(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a torch function with arrays and numbers, with a graph under `autograd.record`.

    Raises:
        MXNetError: for arguments that raise an error in torch.
    """
    ctx = context_of((*args, *kwargs.values())) or as_context(None)
    out = kwargs.pop("out", None)
    given, named = [to_tensors(a) for a in args], {key: to_tensors(value) for key, value in kwargs.items()}
    with engine_errors():
        result = run(lambda: function(*given, **named))
    if isinstance(result, (tuple, list)):
        return (
            type(result)(wrapped(part, ctx) for part in result)
            if type(result) in (tuple, list)
            else [wrapped(part, ctx) for part in result]
        )
    if not isinstance(result, Tensor):
        return result
    if out is not None:
        out[...] = wrapped(result, ctx)
        return out
    return wrapped(result, ctx)


def new_array(make: Callable[..., Tensor], ctx: ContextLike, dtype: Any) -> Any:
    """A new array: `make` takes its dtype and device."""
    context = as_context(ctx)
    return wrapped(make(dtype=torch_dtype(dtype), device=context.device), context)
