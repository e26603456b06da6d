"""Random numbers: drawn from torch's generators, which `mx.random.seed` seeds."""

from typing import Any

import torch
from torch import Tensor

from ..base import DtypeLike, Sizes, torch_dtype
from ..context import ContextLike, as_context
from .registry import operator, truth


def _sizes(shape: Any) -> tuple[int, ...]:
    if shape is None:
        return (1,)
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _blank(shape: Sizes, ctx: ContextLike, dtype: DtypeLike) -> Tensor:
    kind = torch.float32 if dtype in (None, "None") else torch_dtype(dtype)
    return torch.empty(_sizes(shape), dtype=kind, device=as_context(ctx).device)


@operator("_random_uniform", "uniform", "random_uniform", inputs=0)
def _uniform(
    low: float = 0.0, high: float = 1.0, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None
) -> Tensor:
    return _blank(shape, ctx, dtype).uniform_(low, high)


@operator("_random_normal", "normal", "random_normal", inputs=0)
def _normal(
    loc: float = 0.0, scale: float = 1.0, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None
) -> Tensor:
    return _blank(shape, ctx, dtype).normal_(loc, scale)


@operator("_random_exponential", "random_exponential", inputs=0)
def _exponential(lam: float = 1.0, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None) -> Tensor:
    return _blank(shape, ctx, dtype).exponential_(lam)


@operator("_random_gamma", "random_gamma", inputs=0)
def _gamma(
    alpha: float = 1.0, beta: float = 1.0, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None
) -> Tensor:
    blank = _blank(shape, ctx, dtype)
    return torch._standard_gamma(torch.full_like(blank, alpha)) * beta


@operator("_random_poisson", "random_poisson", inputs=0)
def _poisson(lam: float = 1.0, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None) -> Tensor:
    return torch.poisson(torch.full_like(_blank(shape, ctx, dtype), lam))


def _negative_binomial(count: Tensor, fail: Tensor) -> Tensor:
    """How many failures there are, of probability `fail` over that of the other, before `count` successes."""
    return torch.poisson(torch._standard_gamma(count) * fail)


@operator("_random_negative_binomial", "random_negative_binomial", inputs=0)
def _random_negative_binomial(
    k: float = 1.0, p: float = 1.0, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None
) -> Tensor:
    blank = _blank(shape, ctx, dtype)
    return _negative_binomial(torch.full_like(blank, k), torch.full_like(blank, (1 - p) / p))


@operator("_random_generalized_negative_binomial", "random_generalized_negative_binomial", inputs=0)
def _random_generalized_negative_binomial(
    mu: float = 1.0, alpha: float = 1.0, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = None
) -> Tensor:
    blank = _blank(shape, ctx, dtype)
    return _negative_binomial(torch.full_like(blank, 1 / alpha), torch.full_like(blank, mu * alpha))


@operator("_sample_negative_binomial", "sample_negative_binomial", inputs=2)
def _sample_negative_binomial(k: Tensor, p: Tensor, shape: Sizes = None, dtype: DtypeLike = None) -> Tensor:
    sizes = _sampled(shape)
    return _negative_binomial(_spread(k, sizes).contiguous(), _spread((1 - p) / p, sizes))


@operator("_sample_generalized_negative_binomial", "sample_generalized_negative_binomial", inputs=2)
def _sample_generalized(mu: Tensor, alpha: Tensor, shape: Sizes = None, dtype: DtypeLike = None) -> Tensor:
    sizes = _sampled(shape)
    return _negative_binomial(_spread(1 / alpha, sizes).contiguous(), _spread(mu * alpha, sizes))


@operator("_random_randint", "random_randint", inputs=0)
def _randint(low: int, high: int, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = "int32") -> Tensor:
    kind = torch.int32 if dtype in (None, "None") else torch_dtype(dtype)
    return torch.randint(int(low), int(high), _sizes(shape), dtype=kind, device=as_context(ctx).device)


def _sampled(shape: Sizes) -> tuple[int, ...]:
    return () if shape in (None, ()) else _sizes(shape)


def _spread(parameter: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A parameter of one distribution each, repeated over the samples drawn from it."""
    return parameter.reshape(parameter.shape + (1,) * len(shape)).expand(parameter.shape + shape)


@operator("_sample_uniform", "sample_uniform", inputs=2)
def _sample_uniform(low: Tensor, high: Tensor, shape: Sizes = None, dtype: DtypeLike = None) -> Tensor:
    sizes = _sampled(shape)
    low, high = _spread(low, sizes), _spread(high, sizes)
    return low + (high - low) * torch.rand_like(low)


@operator("_sample_normal", "sample_normal", inputs=2)
def _sample_normal(mu: Tensor, sigma: Tensor, shape: Sizes = None, dtype: DtypeLike = None) -> Tensor:
    sizes = _sampled(shape)
    return torch.normal(_spread(mu, sizes).contiguous(), _spread(sigma, sizes).contiguous())


@operator("_sample_exponential", "sample_exponential")
def _sample_exponential(lam: Tensor, shape: Sizes = None, dtype: DtypeLike = None) -> Tensor:
    rate = _spread(lam, _sampled(shape))
    return torch.empty_like(rate.contiguous()).exponential_() / rate


@operator("_sample_gamma", "sample_gamma", inputs=2)
def _sample_gamma(alpha: Tensor, beta: Tensor, shape: Sizes = None, dtype: DtypeLike = None) -> Tensor:
    sizes = _sampled(shape)
    return torch._standard_gamma(_spread(alpha, sizes).contiguous()) * _spread(beta, sizes)


@operator("_sample_poisson", "sample_poisson")
def _sample_poisson(lam: Tensor, shape: Sizes = None, dtype: DtypeLike = None) -> Tensor:
    return torch.poisson(_spread(lam, _sampled(shape)).contiguous())


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


@operator("_random_uniform_like", "random_uniform_like", "uniform_like")
def _uniform_like(data: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    return torch.empty_like(data).uniform_(low, high)


@operator("_random_normal_like", "random_normal_like", "normal_like")
def _normal_like(data: Tensor, loc: float = 0.0, scale: float = 1.0) -> Tensor:
    return torch.empty_like(data).normal_(loc, scale)
