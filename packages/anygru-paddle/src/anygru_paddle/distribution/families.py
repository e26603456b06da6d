"""Families of distributions by their parameters: Laplace, Cauchy, Beta ... Source: Paddle 2.6's pages, recorded."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from ..tensor import creation, random
from ..tensor.operation import plain, wrap
from .distribution import Categorical, Distribution, Parameter, Values

__all__ = ["Beta", "Cauchy", "Dirichlet", "ExponentialFamily", "Geometric", "Gumbel", "Laplace", "Multinomial"]


def _parameters(**given: Parameter) -> list[Values]:
    """Numbers as tensors without axes, all broadcast to one shape.

    Raises:
        TypeError: unless all are numbers or tensors.
    """
    for name, value in given.items():
        if not isinstance(value, (int, float, torch.Tensor)):
            raise TypeError(f"Expected type of {name} is Real|Variable, but got {type(value)}")
    values = [each if isinstance(each, torch.Tensor) else creation.full([], each) for each in given.values()]
    return [wrap(each) for each in torch.broadcast_tensors(*values)]


def _lgamma_sum(x: Values) -> Values:
    """The logarithm of the product of gammas over the last axis."""
    return x.lgamma().sum(-1)


class _Drawn(Distribution):
    """A distribution with draws from `rsample`."""

    def sample(self, shape: Sequence[int] = ()) -> Values:
        """Draws, without gradients."""
        with torch.no_grad():
            return self.rsample(tuple(shape))

    @property
    def stddev(self) -> Values:
        """The standard deviation."""
        return self.variance.sqrt()

    def _uniform(self, shape: Sequence[int], low: float, high: float, like: Values) -> Values:
        return random.uniform(self._extend_shape(shape), str(like.dtype).removeprefix("paddle."), low, high)


class _Located(_Drawn):
    """A distribution on a line, by the place of its middle and its width."""

    loc: Values
    scale: Values

    def __init__(self, loc: Parameter, scale: Parameter) -> None:
        self.loc, self.scale = _parameters(loc=loc, scale=scale)
        super().__init__(self.loc.shape)

    def _standard(self, value: Any) -> Values:
        """(value - loc) / scale."""
        value = value if isinstance(value, torch.Tensor) else creation.full([], value)
        return (value.astype(self.loc.dtype) - self.loc) / self.scale


class Laplace(_Located):
    """The density exp(-|x - loc| / scale) / (2 scale)."""

    @property
    def mean(self) -> Values:
        return self.loc

    @property
    def stddev(self) -> Values:
        return 2**0.5 * self.scale

    @property
    def variance(self) -> Values:
        return self.stddev.pow(2)

    def log_prob(self, value: Any) -> Values:
        """The logarithm of the density."""
        return -(2 * self.scale).log() - self._standard(value).abs()

    def entropy(self) -> Values:
        return 1 + (2 * self.scale).log()

    def cdf(self, value: Any) -> Values:
        """The probability of at most `value`."""
        z = self._standard(value)
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value: Any) -> Values:
        """The quantile of `value`."""
        far = (value if isinstance(value, torch.Tensor) else creation.full([], value)) - 0.5
        return self.loc - self.scale * far.sign() * (-2 * far.abs()).log1p()

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        eps = 2.22045e-16 if plain(self.loc).dtype == torch.float64 else 1.19209e-07  # Paddle 2.6's own digits (read)
        u = self._uniform(shape, float(np.nextafter(-1, 1)) + eps / 2, 1.0 - eps / 2, self.loc)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def kl_divergence(self, other: "Laplace") -> Values:  # type: ignore[override]
        apart = (self.loc - other.loc).abs()
        near = (self.scale * (-apart / self.scale).exp() + apart) / other.scale
        return near + (other.scale / self.scale).log() - 1


class Cauchy(_Located):
    """The density 1 / (pi scale (1 + z * z)) with z = (x - loc) / scale; it has no moments."""

    def __init__(self, loc: Parameter, scale: Parameter, name: str | None = None) -> None:
        super().__init__(loc, scale)
        self.name = name or "Cauchy"

    def __getattribute__(self, name: str) -> Any:
        # Checked before the base's properties, and as a ValueError (recorded, 2.6.2).
        if name in ("mean", "variance", "stddev"):
            raise ValueError(f"Cauchy distribution has no {name}.")
        return super().__getattribute__(name)

    def rsample(self, shape: Sequence[int] = (), name: str | None = None) -> Values:
        return self.loc + self.scale * (math.pi * (self._uniform(shape, 0.0, 1.0, self.loc) - 0.5)).tan()

    def _of_tensor(self, value: Any) -> Values:
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"Expected type of value is Variable, but got {type(value)}")
        return self._standard(value)

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the density."""
        return -self._of_tensor(value).square().log1p() - (self.scale.log() + math.log(math.pi))

    def cdf(self, value: Values) -> Values:
        """The probability of at most `value`."""
        return self._of_tensor(value).atan() / math.pi + 0.5

    def entropy(self) -> Values:
        return self.scale.log() + math.log(4 * math.pi)

    def kl_divergence(self, other: "Cauchy") -> Values:  # type: ignore[override]
        if not isinstance(other, Cauchy):
            raise TypeError(f"Expected type of other is Cauchy, but got {type(other)}")
        both = (self.scale + other.scale).pow(2) + (self.loc - other.loc).pow(2)
        return both.log() - (4 * self.scale * other.scale).log()


class Gumbel(_Located):
    """The density exp(-(z + exp(-z))) / scale with z = (x - loc) / scale."""

    @property
    def mean(self) -> Values:
        return self.loc + self.scale * np.euler_gamma

    @property
    def variance(self) -> Values:
        return self.scale.pow(2) * (math.pi**2 / 6)

    def log_prob(self, value: Any) -> Values:
        """The logarithm of the density."""
        z = self._standard(value)
        return -(z + (-z).exp()) - self.scale.log()

    def cdf(self, value: Any) -> Values:
        """The probability of at most `value`."""
        return (-(-self._standard(value)).exp()).exp()

    def entropy(self) -> Values:
        return self.scale.log() + 1 + np.euler_gamma

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        # float32's limits for float64 parameters, too (2.6.2, read).
        limits = np.finfo("float32")
        u = self._uniform(shape, 0.0, 1.0, self.loc) * float(1 - limits.eps - limits.tiny) + float(limits.tiny)
        return self.loc - self.scale * (-u.log()).log()


class Geometric(_Drawn):
    """The number of failures before the first success, each of probability `probs`."""

    probs: Values

    def __init__(self, probs: Parameter) -> None:
        (self.probs,) = _parameters(probs=probs)
        if bool(((self.probs <= 0) | (self.probs > 1)).any()):
            raise ValueError(
                "Expected parameter probs of distribution Geometric to satisfy theconstraint Interval(lower_bound=0.0, "
                "upper_bound=1.0)"
            )
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Values:
        return 1.0 / self.probs - 1.0

    @property
    def variance(self) -> Values:
        return (1.0 / self.probs - 1.0) / self.probs

    def _power(self, k: Any) -> Values:
        if not isinstance(k, (int, torch.Tensor)):
            raise TypeError(f"Expected type of k is number.Real|framework.Variable, but got {type(k)}")
        return wrap(torch.pow(1.0 - self.probs, k))

    def pmf(self, k: Any) -> Values:
        """The probability of `k` failures."""
        return self._power(k) * self.probs

    def log_pmf(self, k: Any) -> Values:
        """The logarithm of `pmf`."""
        return self.pmf(k).log()

    def cdf(self, k: Any) -> Values:
        """The probability of at most `k` failures."""
        return 1.0 - self._power(k) * (1.0 - self.probs)

    def entropy(self) -> Values:
        fails = 1.0 - self.probs
        return -(fails * fails.log() + self.probs * self.probs.log()) / self.probs

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        """Draws: whole numbers, which pass no gradients."""
        # From float32's smallest number on, for every dtype, so that the logarithm is finite.
        u = self._uniform(shape, float(np.finfo("float32").tiny), 1.0, self.probs)
        return (u.log() / (-self.probs).log1p()).floor()

    def kl_divergence(self, other: "Geometric") -> Values:  # type: ignore[override]
        if not isinstance(other, Geometric):
            raise TypeError(f"Exected type of other is geometric.Geometric, but got {type(other)}")
        p, q = self.probs, other.probs
        # Of one trial, as in Paddle 2.6.2 (recorded); the divergence of the number of failures is 1 / p times as large.
        return p * (p / q).log() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).log()


class ExponentialFamily(_Drawn):
    """The base of distributions with natural parameters; subclasses give these, or `entropy`."""


class Dirichlet(ExponentialFamily):
    """Probabilities of classes, by the `concentration` of each along the last axis. Draws are torch's, not Paddle's."""

    def __init__(self, concentration: Values) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one dimensional")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:])

    @property
    def mean(self) -> Values:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self) -> Values:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        drawn = torch.distributions.Dirichlet(plain(self.concentration), validate_args=False).rsample(tuple(shape))
        return wrap(drawn)

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the density."""
        a = self.concentration
        return (value.log() * (a - 1.0)).sum(-1) + a.sum(-1).lgamma() - _lgamma_sum(a)

    def entropy(self) -> Values:
        a, total, count = self.concentration, self.concentration.sum(-1), self.concentration.shape[-1]
        rest = (count - total) * total.digamma() + ((a - 1.0) * a.digamma()).sum(-1)
        return _lgamma_sum(a) - total.lgamma() - rest

    def kl_divergence(self, other: "Dirichlet") -> Values:  # type: ignore[override]
        a, b = self.concentration, other.concentration
        moved = ((a - b) * (a.digamma() - a.sum(-1, keepdim=True).digamma())).sum(-1)
        return a.sum(-1).lgamma() - _lgamma_sum(a) - b.sum(-1).lgamma() + _lgamma_sum(b) + moved


class Beta(ExponentialFamily):
    """A probability with the density x ** (alpha - 1) * (1 - x) ** (beta - 1), scaled. Draws are torch's, not Paddle's."""

    def __init__(self, alpha: Parameter, beta: Parameter) -> None:
        self.alpha, self.beta = _parameters(alpha=alpha, beta=beta)
        self._dirichlet = Dirichlet(wrap(torch.stack([self.alpha, self.beta], -1)))
        super().__init__(self.alpha.shape)

    @property
    def mean(self) -> Values:
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> Values:
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total.pow(2) * (total + 1))

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        return self._dirichlet.rsample(shape)[..., 0]

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the density."""
        return self._dirichlet.log_prob(wrap(torch.stack([value, 1.0 - value], -1)))

    def entropy(self) -> Values:
        return self._dirichlet.entropy()

    def kl_divergence(self, other: "Beta") -> Values:  # type: ignore[override]
        return self._dirichlet.kl_divergence(other._dirichlet)


class Multinomial(Distribution):
    """How often each class comes in `total_count` draws, by the probabilities along the last axis."""

    probs: Values

    def __init__(self, total_count: int, probs: Values) -> None:
        if not isinstance(total_count, int) or total_count < 1:
            raise ValueError("input parameter total_count must be int type and grater than zero.")
        if probs.ndim < 1:
            raise ValueError("probs parameter shoule not be none and over one dimension")
        self.total_count, self.probs = total_count, probs / probs.sum(-1, keepdim=True)
        self._classes = Categorical(self.probs.log())
        super().__init__(probs.shape[:-1], probs.shape[-1:])

    @property
    def mean(self) -> Values:
        return self.probs * self.total_count

    @property
    def variance(self) -> Values:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the probability of the counts `value`."""
        counts = wrap(torch.broadcast_tensors(value.astype(self.probs.dtype), self.probs)[0])  # before the sums
        chosen = wrap(torch.special.xlogy(counts, self.probs)).sum(-1)
        return (counts.sum(-1) + 1).lgamma() - _lgamma_sum(counts + 1) + chosen

    def sample(self, shape: Sequence[int] = ()) -> Values:
        """Draws of counts, without gradients."""
        if not isinstance(shape, Iterable):
            raise TypeError("sample shape must be Iterable object.")
        drawn = self._classes.sample([self.total_count, *shape])
        counts = torch.nn.functional.one_hot(plain(drawn).long(), self.probs.shape[-1]).sum(0)
        return wrap(counts.to(plain(self.probs).dtype))

    def entropy(self) -> Values:
        n, p = self.total_count, plain(self.probs)
        one = torch.distributions.Categorical(probs=p, validate_args=False).entropy()
        counts = torch.arange(1, n + 1, dtype=p.dtype, device=p.device).reshape(-1, *(1,) * p.ndim)
        found = torch.distributions.Binomial(n, p, validate_args=False).log_prob(counts).exp()
        return wrap(n * one - math.lgamma(n + 1) + (found * torch.lgamma(counts + 1)).sum((0, -1)))
