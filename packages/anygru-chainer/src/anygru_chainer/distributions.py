"""Distributions of random Variables, and the divergence and cross entropy of two of them.

Formulas and order of operations are Chainer 7.8.1's (`distributions`, read), so a seed gives Chainer's losses.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy
import torch

from . import backend
from .backends import _cpu
from .functions import arithmetic as F
from .functions import reductions
from .functions._rows import Tensor, function
from .functions.activations import log_softmax, sigmoid
from .functions.arrays import broadcast_to, reshape
from .functions.joining import where
from .types import VariableLike
from .utils import argument
from .variable import Variable, as_array, as_variable

__all__ = ["Bernoulli", "Categorical", "Independent", "Normal", "Uniform"]


Divergence = Callable[[Any, Any], Variable]


class Distribution:
    """A batch of distributions. Subclass it and define the methods that you need; other methods raise
    NotImplementedError."""

    def _missing(self, *args: Any) -> Any:
        raise NotImplementedError

    cdf = icdf = log_cdf = log_prob = log_survival_function = perplexity = _missing
    prob = sample_n = survival_function = _missing
    batch_shape: Any
    event_shape: Any
    covariance: Any = property(_missing)
    entropy: Any = property(_missing)
    mean: Any = property(_missing)
    mode: Any = property(_missing)
    params: Any = property(_missing)
    stddev: Any = property(_missing)
    support: Any = property(_missing)
    variance: Any = property(_missing)

    @property
    def xp(self) -> Any:
        """The module of the parameters' arrays."""
        return backend.get_array_module(*self.params.values())

    def sample(self, sample_shape: int | tuple[int, ...] = ()) -> Variable:
        """Draws of the shape `sample_shape + batch_shape + event_shape`."""
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        samples = self.sample_n(math.prod(shape))
        return reshape(samples, (*shape, *self.batch_shape, *self.event_shape))


_DIVERGENCES: dict[tuple[type, type], Divergence] = {}


def register_kl(Dist1: type, Dist2: type) -> Callable[[Divergence], Divergence]:
    """A decorator for the function that computes the divergence of two classes of distributions."""

    def decorate(function: Divergence) -> Divergence:
        _DIVERGENCES[Dist1, Dist2] = function
        return function

    return decorate


def kl_divergence(dist1: Distribution, dist2: Distribution) -> Variable:
    """The Kullback-Leibler divergence of two distributions (KeyError unless a function is registered for their classes)."""
    return _DIVERGENCES[type(dist1), type(dist2)](dist1, dist2)


def cross_entropy(dist1: Distribution, dist2: Distribution) -> Variable:
    """The cross entropy of two distributions."""
    return dist1.entropy + kl_divergence(dist1, dist2)


def _one_of(**given: Any) -> None:
    names = " or ".join(f"`{name}`" for name in given)
    if sum(value is not None for value in given.values()) != 1:
        raise ValueError(f"Either {names} (not both) must have a value.")


class Normal(Distribution):
    """Normal distributions.

    Args:
        loc: the means.
        scale: the standard deviations; `log_scale`, a keyword, gives their logarithms instead (ValueError for both).
    """

    event_shape = ()
    support = "real"

    def __init__(self, loc: VariableLike, scale: VariableLike = None, *, log_scale: VariableLike = None) -> None:
        _one_of(scale=scale, log_scale=log_scale)
        self.loc = as_variable(loc)
        self._scale = scale
        self._log_scale = log_scale

    @cached_property
    def scale(self) -> Variable:
        """The standard deviations."""
        return F.exp(self.log_scale) if self._scale is None else as_variable(self._scale)

    @cached_property
    def log_scale(self) -> Variable:
        """The logarithms of the standard deviations."""
        return F.log(self.scale) if self._log_scale is None else as_variable(self._log_scale)

    batch_shape = property(lambda self: self.loc.shape)
    params = property(lambda self: {"loc": self.loc, "scale": self.scale})
    mean = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)

    @cached_property
    def variance(self) -> Variable:
        return self.scale**2

    @cached_property
    def entropy(self) -> Variable:
        return self.log_scale + 0.5 * math.log(2 * math.pi * math.e)

    def log_prob(self, x: VariableLike) -> Variable:
        return -0.5 * math.log(2 * math.pi) - self.log_scale - 0.5 * (x - self.loc) ** 2 / self.variance

    def prob(self, x: VariableLike) -> Variable:
        return (0.5**0.5 / math.pi**0.5 / self.scale) * F.exp(-0.5 * (x - self.loc) ** 2 / self.variance)

    def cdf(self, x: VariableLike) -> Variable:
        return F.ndtr((x - self.loc) / self.scale)

    def icdf(self, x: VariableLike) -> Variable:
        return self.loc + self.scale * F.ndtri(x)

    def log_cdf(self, x: VariableLike) -> Variable:
        return F.log_ndtr((x - self.loc) / self.scale)

    def survival_function(self, x: VariableLike) -> Variable:
        return F.ndtr((self.loc - x) / self.scale)

    def log_survival_function(self, x: VariableLike) -> Variable:
        return F.log_ndtr((self.loc - x) / self.scale)

    def sample_n(self, n: int) -> Variable:
        # Drawn in float64 and rounded, so that a seed gives Chainer's numbers on a CPU (seen).
        draws = numpy.random.standard_normal((n, *self.loc.shape)).astype(self.loc.dtype)
        return self.loc + self.scale * self.loc.device.send(draws)


@register_kl(Normal, Normal)
def _kl_normal(dist1: Normal, dist2: Normal) -> Variable:
    ratio = (dist1.variance + (dist1.loc - dist2.loc) ** 2) / dist2.variance
    return dist2.log_scale - dist1.log_scale + 0.5 * ratio - 0.5


@function("BernoulliLogProb")
def _bernoulli_log_prob(logit: Tensor, x: Tensor, binary_check: bool = False) -> Tensor:
    # The outcome has no gradient (Chainer 7.8.1, seen).
    x = x.detach().to(logit.dtype)
    y = logit * (x - 1) - torch.nn.functional.softplus(-logit)
    impossible = (x != 0) & (x != 1) & bool(binary_check)
    without_gradient = impossible | logit.isinf()
    if y.requires_grad:  # NaN (recorded)
        y.register_hook(lambda gradient: gradient.masked_fill(without_gradient, math.nan))
    # A sure outcome: the line above has inf - inf there.
    y = torch.where(logit == math.inf, x.log(), torch.where(logit == -math.inf, (1 - x).log(), y))
    return torch.where(impossible, -math.inf, y)


@function("ModifiedXLogX")
def _x_log_x(x: Tensor) -> Tensor:
    return x * torch.where(x > 0, x, 1).log()


class Bernoulli(Distribution):
    """Distributions over 0 and 1.

    Args:
        p: the probabilities of 1.
        logit: `log(p / (1 - p))` instead (ValueError for both).
        binary_check: give other numbers than 0 and 1 the probability 0.
    """

    event_shape = ()
    support = "{0, 1}"

    def __init__(self, p: VariableLike = None, logit: VariableLike = None, binary_check: bool = False) -> None:
        _one_of(p=p, logit=logit)
        self._p = p
        self._logit = logit
        self.binary_check = binary_check

    @cached_property
    def p(self) -> Variable:
        """The probabilities of 1."""
        return sigmoid(self.logit) if self._p is None else as_variable(self._p)

    @cached_property
    def logit(self) -> Variable:
        """`log(p / (1 - p))`."""
        return F.log(self.p) - F.log1p(-self.p) if self._logit is None else as_variable(self._logit)

    batch_shape = property(lambda self: self.p.shape)
    params = property(lambda self: {"logit": self.logit})
    mean = property(lambda self: self.p)

    @cached_property
    def variance(self) -> Variable:
        return self.p * (1 - self.p)

    @cached_property
    def stddev(self) -> Variable:
        return self.variance**0.5

    entropy = property(lambda self: -_x_log_x(self.p) - _x_log_x(1 - self.p))

    def log_prob(self, x: VariableLike) -> Variable:
        return _bernoulli_log_prob(self.logit, x, self.binary_check)

    def prob(self, x: VariableLike) -> Variable:
        x = as_variable(x)
        p = x * self.p + (1 - x) * (1 - self.p)
        return p * ((x.array == 0) | (x.array == 1)).astype(p.dtype) if self.binary_check else p

    def sample_n(self, n: int) -> Variable:
        p = _cpu.to_cpu(self.p.array)
        return Variable(self.p.device.send(numpy.random.binomial(1, p, size=(n, *p.shape))))


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli(dist1: Bernoulli, dist2: Bernoulli) -> Variable:
    rest = F.log(F.exp(-dist2.logit) + 1) - F.log(F.exp(-dist1.logit) + 1)
    return (dist1.logit - dist2.logit) * (dist1.p - 1.0) + rest


class Categorical(Distribution):
    """Distributions over the places 0 ... N - 1 of the last axis.

    Args:
        p: the probabilities [..., N].
        logit: a keyword, log probabilities up to a constant instead (ValueError for both).
    """

    event_shape = ()

    def __init__(self, p: VariableLike = None, **kwargs: Any) -> None:
        (logit,) = argument.parse_kwargs(kwargs, ("logit", None))
        _one_of(p=p, logit=logit)
        self._p = p
        self._logit = logit

    @cached_property
    def p(self) -> Variable:
        """The probabilities."""
        return F.exp(self.log_p) if self._p is None else as_variable(self._p)

    @cached_property
    def log_p(self) -> Variable:
        """The logarithms of the probabilities."""
        return log_softmax(self._logit, -1) if self._p is None else F.log(self._p)

    batch_shape = property(lambda self: self.p.shape[:-1])
    params = property(lambda self: {"p": self.p})
    entropy = property(lambda self: -reductions.sum(_x_log_x(self.p), -1))

    def log_prob(self, x: VariableLike) -> Variable:
        places = (*numpy.indices(self.batch_shape), as_array(x).astype(numpy.int32))
        return self.log_p[places]

    def sample_n(self, n: int) -> Variable:
        # One draw of n places for each row, as in Chainer 7.8.1 on a CPU (read).
        rows = _cpu.to_cpu(self.p.array).reshape(-1, self.p.shape[-1])
        draws = [numpy.random.choice(len(row), size=n, p=row) for row in rows]
        return Variable(self.p.device.send(numpy.stack(draws, 1).reshape(n, *self.batch_shape)))


@register_kl(Categorical, Categorical)
def _kl_categorical(dist1: Categorical, dist2: Categorical) -> Variable:
    return reductions.sum(dist1.p * (dist1.log_p - dist2.log_p), -1)


class Uniform(Distribution):
    """Uniform distributions.

    Args:
        low, high: the bounds.
        loc, scale: the lower bounds and the widths, instead of `low` and `high` (ValueError unless one pair is given).
    """

    event_shape = ()
    support = "[low, high]"

    def __init__(self, **kwargs: Any) -> None:
        names = ("low", "high", "loc", "scale")
        low, high, loc, scale = argument.parse_kwargs(kwargs, *[(name, None) for name in names])
        by_bounds = low is not None and high is not None
        if by_bounds == (loc is not None and scale is not None):
            raise ValueError("Either `low, high` or `loc, scale` (not both) must have a value.")
        self.low = self.loc = as_variable(low if by_bounds else loc)
        self.scale = as_variable(high) - self.low if by_bounds else as_variable(scale)
        self.high = as_variable(high) if by_bounds else self.low + self.scale
        self._named = ("low", "high") if by_bounds else ("loc", "scale")

    params = property(lambda self: {name: getattr(self, name) for name in self._named})
    batch_shape = property(lambda self: self.low.shape)
    entropy = property(lambda self: F.log(self.scale))
    mean = property(lambda self: (self.high + self.low) / 2)
    variance = property(lambda self: self.scale**2 / 12)
    stddev = property(lambda self: F.sqrt(self.variance))

    def log_prob(self, x: VariableLike) -> Variable:
        x = as_array(x)
        inside = (x >= self.low.array) & (x <= self.high.array)
        density = broadcast_to(-F.log(self.scale), x.shape)
        return where(inside, density, self.xp.full((), -numpy.inf, density.dtype))

    def cdf(self, x: VariableLike) -> Variable:
        return F.clip((x - self.loc) / self.scale, 0.0, 1.0)

    def icdf(self, x: VariableLike) -> Variable:
        return x * self.scale + self.loc

    def sample_n(self, n: int) -> Variable:
        draws = numpy.random.uniform(0, 1, (n, *self.low.shape)).astype(self.low.dtype)
        return self.icdf(self.low.device.send(draws))


@register_kl(Uniform, Uniform)
def _kl_uniform(dist1: Uniform, dist2: Uniform) -> Variable:
    outside = (dist1.high.array > dist2.high.array) | (dist1.low.array < dist2.low.array)
    return where(outside, dist1.xp.full((), numpy.inf, dist1.high.dtype), F.log(dist2.scale) - F.log(dist1.scale))


def _inner(name: str) -> Any:
    return property(lambda self: getattr(self.distribution, name))


def _over_event(reduce: Any, name: str) -> Any:
    """A method of the inner distribution, put together over the axes of an event."""
    return lambda self, x: self._reduce(reduce, getattr(self.distribution, name)(x))


class Independent(Distribution):
    """A batch of distributions, with the last axes taken as one event.

    Args:
        distribution: the batch.
        reinterpreted_batch_ndims: the number of axes; by default every axis except the first.
    """

    mean, mode, params, stddev = _inner("mean"), _inner("mode"), _inner("params"), _inner("stddev")
    support, variance, sample_n, xp = _inner("support"), _inner("variance"), _inner("sample_n"), _inner("xp")

    def __init__(self, distribution: Distribution, reinterpreted_batch_ndims: int | None = None) -> None:
        n_axes = len(distribution.batch_shape)
        n = max(0, n_axes - 1) if reinterpreted_batch_ndims is None else reinterpreted_batch_ndims
        if n > n_axes:
            raise ValueError(f"reinterpreted_batch_ndims must be at most {n_axes}, the number of batch axes; got {n}")
        self.distribution = distribution
        self.reinterpreted_batch_ndims = n
        self.batch_shape = distribution.batch_shape[: n_axes - n]
        self.event_shape = distribution.batch_shape[n_axes - n :] + distribution.event_shape

    def _reduce(self, reduce: Any, values: Variable) -> Variable:
        return reduce(values, axis=tuple(range(-self.reinterpreted_batch_ndims, 0)))

    entropy = property(lambda self: self._reduce(reductions.sum, self.distribution.entropy))

    log_prob, log_cdf = _over_event(reductions.sum, "log_prob"), _over_event(reductions.sum, "log_cdf")
    log_survival_function = _over_event(reductions.sum, "log_survival_function")
    prob, cdf, perplexity = (_over_event(reductions.prod, name) for name in ("prob", "cdf", "perplexity"))
    survival_function = _over_event(reductions.prod, "survival_function")

    def icdf(self, x: VariableLike) -> Variable:
        """RuntimeError: the function of several values has no inverse."""
        raise RuntimeError("Cumulative distribution function for multivariate variable is not invertible.")


@register_kl(Independent, Independent)
def _kl_independent(dist1: Independent, dist2: Independent) -> Variable:
    p, q = dist1.distribution, dist2.distribution
    if dist1.event_shape != dist2.event_shape:
        raise ValueError("Event shapes do not match.")
    if p.event_shape != q.event_shape:
        raise NotImplementedError("KL between Independents with different event shapes not supported.")
    n_axes = len(dist1.event_shape) - len(p.event_shape)
    return reductions.sum(kl_divergence(p, q), axis=tuple(range(-n_axes, 0)))
