"""Random numbers: drawn from torch's generators, which `mx.random.seed` seeds.

A distribution is a row of `_DRAWS`. Three operators come from it: `_random_name` takes numbers, `_sample_name` an array with
the parameters of a distribution in each element, `_random_name_like` numbers and an array that tells the shape.
"""

import math
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import torch
from torch import Tensor

from ..base import DtypeLike, Sizes, torch_dtype
from ..context import ContextLike, as_context
from .registry import operator, truth


def _sizes(shape: Any) -> tuple[int, ...]:
    if shape is None:
        # MXNet 1.9.1 draws one number then, in an array of shape (1,).
        return (1,)
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _blank(shape: Sizes, ctx: ContextLike, dtype: DtypeLike) -> Tensor:
    # A symbol's file says "None" where nothing was given.
    kind = torch.float32 if dtype in (None, "None") else torch_dtype(dtype)
    return torch.empty(_sizes(shape), dtype=kind, device=as_context(ctx).device)


def _sampled(shape: Sizes) -> tuple[int, ...]:
    return () if shape in (None, ()) else _sizes(shape)


def _spread(parameter: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A parameter of one distribution each, repeated over the samples drawn from it."""
    return parameter.reshape(parameter.shape + (1,) * len(shape)).expand(parameter.shape + shape)


Number = Any  # a float, or a tensor with one for each draw


def _gamma(blank: Tensor, shape: Number) -> Tensor:
    shapes = shape if isinstance(shape, Tensor) else torch.full_like(blank, shape)
    # torch draws gamma numbers by this function only; torch.distributions.Gamma checks its arguments and then calls it.
    return torch._standard_gamma(_wide(shapes)).to(blank.dtype)


def _poisson(blank: Tensor, rate: Number) -> Tensor:
    rates = rate if isinstance(rate, Tensor) else torch.full_like(blank, rate)
    return torch.poisson(_wide(rates)).to(blank.dtype)


def _wide(values: Tensor) -> Tensor:
    """Values in a dtype that torch draws in on a CPU, in one piece of memory."""
    return (values.float() if values.dtype == torch.float16 else values).contiguous()


def _uniform(blank: Tensor, low: Number, high: Number) -> Tensor:
    if isinstance(low, Tensor):
        return low + (high - low) * blank.uniform_()
    return blank.uniform_(low, high)


def _normal(blank: Tensor, loc: Number, scale: Number) -> Tensor:
    if isinstance(loc, Tensor):
        return loc + scale * blank.normal_()
    return blank.normal_(loc, scale)


# name -> (parameters with their defaults, their names with arrays if they differ, how to draw)
_DRAWS: dict[str, tuple[dict[str, float], tuple[str, ...], Callable[..., Tensor]]] = {
    "uniform": ({"low": 0.0, "high": 1.0}, (), _uniform),
    "normal": ({"loc": 0.0, "scale": 1.0}, ("mu", "sigma"), _normal),
    "exponential": ({"lam": 1.0}, (), lambda blank, lam: blank.exponential_() / lam),
    # beta is a scale: draws for alpha = 2, beta = 3 have the mean 6 in MXNet 1.9.1 (seen); torch's and most papers' is a
    # rate.
    "gamma": ({"alpha": 1.0, "beta": 1.0}, (), lambda blank, alpha, beta: _gamma(blank, alpha) * beta),
    "poisson": ({"lam": 1.0}, (), _poisson),
    # Failures before k successes are a Poisson draw whose rate is a gamma draw.
    "negative_binomial": ({"k": 1.0, "p": 1.0}, (), lambda blank, k, p: _poisson(blank, _gamma(blank, k) * (1 - p) / p)),
    "generalized_negative_binomial": (
        {"mu": 1.0, "alpha": 1.0},
        (),
        lambda blank, mu, alpha: _poisson(blank, _gamma(blank, 1 / alpha) * (mu * alpha)),
    ),
}  # fmt: skip


def _signed(compute: Callable[..., Tensor], **defaults: Any) -> Callable[..., Tensor]:
    """A function of keywords with the signature that an operator reads its inputs and attributes from."""

    def operation(*args: Any, **kwargs: Any) -> Tensor:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return compute(**bound.arguments)

    kind = Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature([Parameter(name, kind, default=value) for name, value in defaults.items()])
    operation.__signature__ = signature  # type: ignore[attr-defined]
    return operation


def _register(name: str, numbers: dict[str, float], arrays: tuple[str, ...], draw: Callable[..., Tensor]) -> None:
    def of_numbers(shape: Sizes, ctx: ContextLike, dtype: DtypeLike, **parameters: float) -> Tensor:
        return draw(_blank(shape, ctx, dtype), *parameters.values())

    def of_arrays(shape: Sizes, dtype: DtypeLike, **parameters: Tensor) -> Tensor:
        sizes = _sampled(shape)
        spread = [_spread(parameter, sizes) for parameter in parameters.values()]
        drawn = draw(torch.empty_like(spread[0], memory_format=torch.contiguous_format), *spread)
        return drawn if dtype in (None, "None") else drawn.to(torch_dtype(dtype))

    def like(data: Tensor, **parameters: float) -> Tensor:
        return draw(torch.empty_like(data), *parameters.values())

    short = [name] if name in ("uniform", "normal") else []
    operator(f"_random_{name}", f"random_{name}", *short, inputs=0)(
        _signed(of_numbers, **numbers, shape=None, ctx=None, dtype=None)
    )
    each = dict.fromkeys(arrays or tuple(numbers), Parameter.empty)
    operator(f"_sample_{name}", f"sample_{name}", inputs=len(each))(_signed(of_arrays, **each, shape=None, dtype=None))
    operator(f"_random_{name}_like")(_signed(like, data=Parameter.empty, **numbers))


for _name, _row in _DRAWS.items():
    _register(_name, *_row)


@operator("_random_randint", "random_randint", inputs=0)
def _randint(low: int, high: int, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = "int32") -> Tensor:
    kind = torch.int32 if dtype in (None, "None") else torch_dtype(dtype)
    return torch.randint(int(low), int(high), _sizes(shape), dtype=kind, device=as_context(ctx).device)


@operator(
    "_sample_multinomial",
    "sample_multinomial",
    visible=lambda attributes: 2 if truth(attributes.get("get_prob", False)) else 1,
)
def _sample_multinomial(
    data: Tensor, shape: Sizes = None, get_prob: bool = False, dtype: DtypeLike = "int32"
) -> Tensor | tuple[Tensor, Tensor]:
    sizes = _sampled(shape)
    count = torch.Size(sizes).numel()
    rows = data.reshape(-1, data.shape[-1])
    drawn = torch.multinomial(rows.detach(), count, replacement=True)
    lead = data.shape[:-1]
    samples = drawn.to(torch_dtype(dtype)).reshape((*lead, *sizes) or (1,))
    if not truth(get_prob):
        return samples
    return samples, torch.log(rows.gather(1, drawn)).reshape(samples.shape)


@operator("_shuffle", "shuffle")
def _shuffle(data: Tensor) -> Tensor:
    return data[torch.randperm(data.shape[0], device=data.device)]


@operator("_sample_unique_zipfian", inputs=0, visible=2)
def _sample_unique_zipfian(range_max: int, shape: Sizes = None) -> tuple[Tensor, Tensor]:
    """Different whole numbers below `range_max`, small ones more often, for each row; and how many were drawn for that."""
    rows, count = _sizes(shape)
    samples, tries = [], []
    for _ in range(rows):
        found: dict[int, None] = {}
        drawn = 0
        while len(found) < count:
            reals = torch.rand(count, dtype=torch.float64) * math.log(range_max + 1)
            for value in (reals.exp() - 1).round().long().remainder(range_max).tolist():
                drawn += len(found) < count
                if len(found) < count:
                    found[value] = None
        samples.append(list(found))
        tries.append(drawn)
    return torch.tensor(samples), torch.tensor(tries)
