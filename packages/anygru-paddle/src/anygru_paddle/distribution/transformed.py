"""Distributions derived from others by transforms, or with axes that count as one event. Source: Paddle 2.6's pages, recorded."""

from collections.abc import Sequence

from .distribution import Distribution, Normal, Parameter, Values
from .transform import ChainTransform, ExpTransform, Transform, sum_rightmost

__all__ = ["Independent", "LogNormal", "TransformedDistribution"]


class Independent(Distribution):
    """A distribution that counts the last `reinterpreted_batch_rank` batch axes as part of the event."""

    def __init__(self, base: Distribution, reinterpreted_batch_rank: int) -> None:
        if not isinstance(base, Distribution):
            raise TypeError(f"Expected type of 'base' is Distribution, but got {type(base)}")
        axes = len(base.batch_shape)
        if not 0 < reinterpreted_batch_rank <= axes:
            raise ValueError(f"Expected 0 < reinterpreted_batch_rank <= {axes}, but got {reinterpreted_batch_rank}")
        self._base, self._rank = base, reinterpreted_batch_rank
        shape, kept = (*base.batch_shape, *base.event_shape), axes - reinterpreted_batch_rank
        super().__init__(shape[:kept], shape[kept:])

    @property
    def mean(self) -> Values:
        return self._base.mean

    @property
    def variance(self) -> Values:
        return self._base.variance

    def sample(self, shape: Sequence[int] = ()) -> Values:
        """Draws, without gradients."""
        return self._base.sample(shape)

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the probability (density) of an event."""
        return sum_rightmost(self._base.log_prob(value), self._rank)

    def entropy(self) -> Values:
        return sum_rightmost(self._base.entropy(), self._rank)


class TransformedDistribution(Distribution):
    """The distribution of the transformed variables of `base`."""

    def __init__(self, base: Distribution, transforms: Sequence[Transform]) -> None:
        if not isinstance(base, Distribution):
            raise TypeError(f"Expected type of 'base' is Distribution, but got {type(base)}.")
        chain = ChainTransform(transforms)
        self._base, self._transforms = base, transforms
        shape, (before, after) = (*base.batch_shape, *base.event_shape), chain.ranks
        if len(shape) < before:
            raise ValueError(f"'base' needs to have shape with size at least {before}, bug got {len(shape)}.")
        given = max(len(base.event_shape), before)
        shape, rank = tuple(chain.forward_shape(shape)), after + given - before
        super().__init__(shape[: len(shape) - rank], shape[len(shape) - rank :])

    def sample(self, shape: Sequence[int] = ()) -> Values:
        """Draws, without gradients to the parameters of the base."""
        return self._moved(self._base.sample(shape))

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        return self._moved(self._base.rsample(shape))

    def _moved(self, x: Values) -> Values:
        for each in self._transforms:
            x = each.forward(x)
        return x

    def log_prob(self, value: Values) -> Values:
        total, rank = 0.0, len(self.event_shape)
        for each in reversed(self._transforms):
            value, rank = each.inverse(value), rank + each.ranks[0] - each.ranks[1]
            total = total - sum_rightmost(each.forward_log_det_jacobian(value), rank - each.ranks[0])
        return total + sum_rightmost(self._base.log_prob(value), rank - len(self._base.event_shape))


Transform.made = TransformedDistribution


class LogNormal(TransformedDistribution):
    """A variable with a normal logarithm."""

    _base: Normal

    def __init__(self, loc: Parameter, scale: Parameter) -> None:
        base = Normal(loc, scale)
        self.loc, self.scale = base.loc, base.scale
        super().__init__(base, [ExpTransform()])

    @property
    def mean(self) -> Values:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def variance(self) -> Values:
        return self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp()

    def entropy(self) -> Values:
        return self._base.entropy() + self.loc

    def probs(self, value: Values) -> Values:
        """The density."""
        return self.log_prob(value).exp()

    def kl_divergence(self, other: "LogNormal") -> Values:  # type: ignore[override]
        return self._base.kl_divergence(other._base)
