"""Distributions of random Variables, and the divergence and cross entropy of two of them."""

import math
from collections.abc import Callable
from typing import Any

from . import backend
from .functions.arrays import reshape
from .variable import Variable

Divergence = Callable[[Any, Any], Variable]


class Distribution:
    """A batch of distributions. Subclass it and define what you need; the rest raises NotImplementedError."""

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
    """The Kullback-Leibler divergence of two distributions (KeyError if none is registered for their classes)."""
    return _DIVERGENCES[type(dist1), type(dist2)](dist1, dist2)


def cross_entropy(dist1: Distribution, dist2: Distribution) -> Variable:
    """The cross entropy of two distributions."""
    return dist1.entropy + kl_divergence(dist1, dist2)
