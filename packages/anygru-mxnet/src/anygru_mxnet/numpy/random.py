"""`mx.np.random`: random draws. On a CPU they equal MXNet 1.9.1's, except in `gamma` and `choice(replace=False)`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch
from torch import Tensor

from ..base import DtypeLike, Sizes, integer_types
from ..context import ContextLike
from ..operators.generator import generator
from ..operators.random import drawn_by_torch, filled
from ..operators.random import shuffle as _shuffle
from ..operators.registry import as_tuple
from ..random import seed
from .apply import apply, new_array, wrapped

__all__ = [
    "choice", "exponential", "gamma", "multinomial", "normal", "permutation", "rand", "randint", "randn", "seed", "shuffle",
    "uniform",
]  # fmt: skip


def _sizes(size: Sizes) -> tuple[int, ...]:
    return () if size is None else tuple(int(n) for n in as_tuple(size))


def _scaled(draw: Any, low: Any, scale: Any, size: Sizes, dtype: DtypeLike, ctx: ContextLike, out: Any) -> Any:
    """`low + scale * draw`. Numbers and arrays broadcast with the size."""
    shape = torch.broadcast_shapes(*(getattr(part, "shape", ()) for part in (low, scale)), _sizes(size))
    drawn = new_array(lambda **kind: draw(shape, **kind), ctx, None) * scale + low
    return _write_out(out, drawn if dtype is None else drawn.astype(dtype))


def _draws(numbers: Callable[[int], onp.ndarray], by_torch: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Draws in float32 from MXNet's generator with one state, or from torch's generator."""

    def draw(shape: Any, dtype: torch.dtype, device: torch.device) -> Tensor:
        blank = torch.empty(shape, dtype=dtype, device=device)
        return by_torch(blank) if drawn_by_torch(blank) else filled(blank, numbers(blank.numel()))

    return draw


def _write_out(out: Any, drawn: Any) -> Any:
    if out is None:
        return drawn
    out[...] = drawn
    return out


def normal(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: Any = None,
) -> Any:
    """Normal draws with a mean and a standard deviation."""
    return _scaled(_draws(generator.one_normal, lambda blank: blank.normal_()), loc, scale, size, dtype, ctx, out)


def uniform(
    low: Any = 0.0,
    high: Any = 1.0,
    size: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: Any = None,
) -> Any:
    """Uniform draws from [low, high)."""
    return _scaled(
        _draws(generator.one_uniform, lambda blank: blank.uniform_()), low, high - low, size, dtype, ctx, out
    )


def exponential(scale: Any = 1.0, size: Sizes = None, ctx: ContextLike = None, out: Any = None) -> Any:
    """Exponential draws with a mean."""

    def numbers(count: int) -> onp.ndarray:
        return -onp.log(generator.one_uniform(count).astype(float))

    return _scaled(_draws(numbers, lambda blank: blank.exponential_()), 0, scale, size, None, ctx, out)


def gamma(
    shape: float,
    scale: Any = 1.0,
    size: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: Any = None,
) -> Any:
    """Gamma draws with a shape and a scale."""
    return _scaled(
        lambda n, **kind: torch._standard_gamma(torch.full(n, shape, **kind)), 0, scale, size, dtype, ctx, out
    )


def rand(*size: int, **kwargs: Any) -> Any:
    """Uniform draws from [0, 1). The sizes are the arguments."""
    return uniform(size=size, **kwargs)


def randn(*size: int, **kwargs: Any) -> Any:
    """Normal draws. The sizes are the arguments."""
    return normal(size=size, **kwargs)


def randint(
    low: int,
    high: int | None = None,
    size: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: Any = None,
) -> Any:
    """Integers from [low, high), or from [0, low) without `high`, as int64 by default."""
    bounds = (0, low) if high is None else (low, high)
    drawn = generator.integers(math.prod(_sizes(size)), *bounds)
    return _write_out(
        out, new_array(lambda **kind: torch.from_numpy(drawn).reshape(_sizes(size)).to(**kind), ctx, dtype or "int64")
    )


def choice(
    a: Any, size: Sizes = None, replace: bool = True, p: Any = None, ctx: ContextLike = None, out: Any = None
) -> Any:
    """Elements of an array, or numbers below `a`, drawn with probabilities `p`."""
    a = int(a) if isinstance(a, integer_types) else a
    count, number = a if isinstance(a, int) else len(a), math.prod(_sizes(size))
    chances = None if p is None else torch.as_tensor(getattr(p, "_t", p), dtype=torch.float64)
    if not replace and number > count:
        raise ValueError(f"Cannot take a larger sample ({number}) than population ({count}) when 'replace=False'")
    if not replace:
        drawn = torch.multinomial(torch.ones(count) if chances is None else chances, number)
    elif chances is not None:
        drawn = torch.from_numpy(_outcomes(chances, generator.one_uniform(number)))
    else:
        drawn = torch.from_numpy(generator.one_words(number) % count)
    places = new_array(lambda **kind: drawn.reshape(_sizes(size)).to(**kind), ctx, "int64")
    return _write_out(out, places if isinstance(a, int) else a[places])


def _outcomes(chances: Tensor, uniform: onp.ndarray) -> onp.ndarray:
    """Map numbers from 0 to 1 to outcomes."""
    return onp.minimum(onp.searchsorted(chances.cumsum(0).numpy(), uniform, "right"), len(chances) - 1)


def multinomial(n: int, pvals: Any, size: Sizes = None) -> Any:
    """The number of times that each outcome occurs in n draws."""
    chances = torch.as_tensor(getattr(pvals, "_t", pvals), dtype=torch.float64)
    rows = [
        onp.bincount(_outcomes(chances, generator.one_uniform(n, onp.float64)), minlength=len(chances))
        for _ in range(math.prod(_sizes(size)))
    ]
    counts = torch.from_numpy(onp.array(rows, onp.int64).reshape(*_sizes(size), len(chances)))
    return new_array(lambda **kind: counts.to(**kind), None, "int64")


def shuffle(x: Any) -> None:
    """Shuffle the rows in place."""
    x[...] = apply(_shuffle, x)


def permutation(x: Any) -> Any:
    """The rows, or the numbers below x, in random order."""
    if isinstance(x, integer_types):
        return new_array(lambda **kind: _shuffle(torch.arange(int(x), **kind)), None, "int64")
    return wrapped(_shuffle(x._t), x._ctx)
