"""`mx.np.random`: draws by torch's generators, which `mx.np.random.seed` and `mx.random.seed` seed."""

from typing import Any

import torch

from ..base import DtypeLike, Sizes
from ..context import ContextLike
from ..random import seed
from .apply import apply, made, wrapped

__all__ = [
    "choice", "exponential", "gamma", "multinomial", "normal", "permutation", "rand", "randint", "randn", "seed", "shuffle",
    "uniform",
]  # fmt: skip


def _sizes(size: Sizes) -> tuple[int, ...]:
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)


def _scaled(draw: Any, low: Any, scale: Any, size: Sizes, dtype: DtypeLike, ctx: ContextLike, out: Any) -> Any:
    """`low + scale * draw`, where numbers and arrays broadcast with the size."""
    shape = torch.broadcast_shapes(*(getattr(part, "shape", ()) for part in (low, scale)), _sizes(size))
    return _into(out, made(lambda **kind: draw(shape, **kind), ctx, dtype) * scale + low)


def _into(out: Any, drawn: Any) -> Any:
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
    """Normal with a mean and a standard deviation."""
    return _scaled(torch.randn, loc, scale, size, dtype, ctx, out)


def uniform(
    low: Any = 0.0,
    high: Any = 1.0,
    size: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: Any = None,
) -> Any:
    """Uniform on [low, high)."""
    return _scaled(torch.rand, low, high - low, size, dtype, ctx, out)


def exponential(scale: Any = 1.0, size: Sizes = None, ctx: ContextLike = None, out: Any = None) -> Any:
    """Exponential with a mean."""
    return _scaled(lambda shape, **kind: torch.empty(shape, **kind).exponential_(), 0, scale, size, None, ctx, out)


def gamma(
    shape: float,
    scale: Any = 1.0,
    size: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: Any = None,
) -> Any:
    """Gamma with a shape and a scale."""
    return _scaled(
        lambda n, **kind: torch._standard_gamma(torch.full(n, shape, **kind)), 0, scale, size, dtype, ctx, out
    )


def rand(*size: int, **kwargs: Any) -> Any:
    """Uniform on [0, 1), the sizes as arguments."""
    return uniform(size=size, **kwargs)


def randn(*size: int, **kwargs: Any) -> Any:
    """Normal, the sizes as arguments."""
    return normal(size=size, **kwargs)


def randint(
    low: int,
    high: int | None = None,
    size: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: Any = None,
) -> Any:
    """Whole numbers of [low, high), or of [0, low) without `high`; int64."""
    bounds = (0, low) if high is None else (low, high)
    return _into(out, made(lambda **kind: torch.randint(*bounds, _sizes(size), **kind), ctx, dtype or "int64"))


def choice(
    a: Any, size: Sizes = None, replace: bool = True, p: Any = None, ctx: ContextLike = None, out: Any = None
) -> Any:
    """Elements of an array, or numbers below `a`, drawn with probabilities `p`."""
    count = a if isinstance(a, int) else len(a)
    weights = torch.ones(count) if p is None else torch.as_tensor(getattr(p, "_t", p), dtype=torch.float64)
    number = torch.Size(_sizes(size)).numel()
    drawn = torch.multinomial(weights, number, replace).reshape(_sizes(size))
    places = made(lambda **kind: drawn.to(**kind), ctx, "int64")
    return _into(out, places if isinstance(a, int) else a[places])


def multinomial(n: int, pvals: Any, size: Sizes = None) -> Any:
    """How often each of several outcomes came in n draws."""
    weights = torch.as_tensor(getattr(pvals, "_t", pvals), dtype=torch.float64)
    rows = torch.Size(_sizes(size)).numel()
    drawn = torch.multinomial(weights.expand(rows, -1), n, replacement=True)
    counts = torch.zeros(rows, len(weights), dtype=torch.int64, device=drawn.device).scatter_add_(
        1, drawn, torch.ones_like(drawn)
    )
    return made(lambda **kind: counts.reshape(*_sizes(size), len(weights)).to(**kind), None, "int64")


def shuffle(x: Any) -> None:
    """Put the rows in another order, in place."""
    x[...] = apply(lambda t: t[torch.randperm(len(t), device=t.device)], x)


def permutation(x: Any) -> Any:
    """The rows, or the numbers below x, in another order."""
    if isinstance(x, int):
        return made(lambda **kind: torch.randperm(x, **kind), None, "int64")
    return wrapped(x._t[torch.randperm(len(x), device=x._t.device)], x._ctx)
