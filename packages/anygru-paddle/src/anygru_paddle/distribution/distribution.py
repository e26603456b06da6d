"""Distributions: normal, uniform, categorical, Bernoulli. Source: Paddle 2.6, read and recorded."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

from ..base.dygraph.base import no_grad
from ..framework.framework import get_default_dtype
from ..nn.functional.activation import softmax
from ..nn.functional.loss import binary_cross_entropy_with_logits
from ..tensor import creation, random

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence", "register_kl"]

Parameter = float | Sequence[Any] | np.ndarray | torch.Tensor
Values = Any  # a paddle.Tensor; a type checker does not see its methods
Rule = TypeVar("Rule", bound=Callable[..., Any])


class Distribution:
    """The base of distributions: shapes, and the probability by its logarithm."""

    def __init__(self, batch_shape: Iterable[int] = (), event_shape: Iterable[int] = ()) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw."""
        return self._event_shape

    @property
    def mean(self) -> Values:
        """The expectation."""
        raise NotImplementedError

    @property
    def variance(self) -> Values:
        """The variance."""
        raise NotImplementedError

    def sample(self, shape: Sequence[int] = ()) -> Values:
        """Draws, without gradients if the draws do not have them."""
        raise NotImplementedError

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        """Draws that pass gradients to the parameters."""
        raise NotImplementedError

    def entropy(self) -> Values:
        """The entropy in nats."""
        raise NotImplementedError

    def kl_divergence(self, other: "Distribution") -> Values:
        """The Kullback-Leibler divergence from `other`."""
        raise NotImplementedError

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the probability (density)."""
        raise NotImplementedError

    def probs(self, value: Values) -> Values:
        """The probability (density)."""
        raise NotImplementedError

    def prob(self, value: Values) -> Values:
        """The exponential of `log_prob`."""
        return self.log_prob(value).exp()

    def _extend_shape(self, sample_shape: Sequence[int]) -> list[int]:
        return [*sample_shape, *self._batch_shape, *self._event_shape]


def _as_tensors(*given: Parameter) -> tuple[list[Values], str]:
    """The parameters as tensors, and their dtype: numbers become float32 tensors of one shape.

    Raises:
        ValueError: for tensors mixed with other types.
        TypeError: for other kinds.
    """
    if all(isinstance(each, torch.Tensor) for each in given):
        return list(given), str(given[0].dtype).removeprefix("paddle.")  # type: ignore[union-attr]
    if any(isinstance(each, torch.Tensor) for each in given):
        raise ValueError("if one argument is Tensor, all arguments should be Tensor")
    for each in given:
        if not isinstance(each, (float, list, tuple, np.ndarray)):
            raise TypeError(
                "Type of input args must be float, list, tuple, numpy.ndarray or Tensor, but received type "
                f"{type(each)}"
            )
    arrays = [np.array(each) for each in given]
    if any(each.dtype not in (np.float32, np.float64) for each in arrays):
        warnings.warn(
            "data type of argument only support float32 and float64, your argument will be convert to float32.",
            stacklevel=4,
        )
    # Paddle rounds to single precision before it casts to the dtype of an array of doubles.
    singles = np.broadcast_arrays(*(each.astype(np.float32) for each in arrays))
    kinds = [
        str(each.dtype) for each in given if isinstance(each, np.ndarray) and each.dtype in (np.float32, np.float64)
    ]
    dtype = kinds[0] if kinds else "float32"
    return [creation.to_tensor(each, dtype=dtype) for each in singles], dtype


def _cast(value: Values, like: Values) -> Values:
    if value.dtype == like.dtype or not value.is_floating_point():
        return value
    warnings.warn(
        "dtype of input 'value' needs to be the same as parameters of distribution class. dtype of 'value' will be converted.",
        stacklevel=3,
    )
    return value.astype(like.dtype)


class _OfTwo(Distribution):
    """A distribution of two parameters, numbers or arrays or tensors."""

    def __init__(self, first: Parameter, second: Parameter, name: str | None) -> None:
        given = [float(each) if isinstance(each, int) else each for each in (first, second)]
        self.all_arg_is_float = all(isinstance(each, float) for each in given)
        self._parameters, self.dtype = _as_tensors(*given)
        self.name = name or type(self).__name__
        super().__init__(self._parameters[0].shape)

    def _scaled(self, draw: Callable[..., Values], shape: Sequence[int], factor: Values, offset: Values) -> Values:
        """Standard draws in the requested shape, scaled and shifted by the parameters; single numbers add no axis."""
        if not isinstance(shape, Iterable):
            raise TypeError("sample shape must be Iterable object.")
        batch = (factor + offset).shape
        out = draw([*shape, *batch]) * factor + offset
        # Normal(0., 1.).sample([2]) is [2], Normal([0.], [1.]).sample([2]) is [2, 1] (recorded, 2.6.2).
        return out.reshape(list(shape)) if self.all_arg_is_float else out


class Normal(_OfTwo):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: Parameter, scale: Parameter, name: str | None = None) -> None:
        super().__init__(loc, scale, name)
        self.loc, self.scale = self._parameters

    @property
    def mean(self) -> Values:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Values:
        """The square of `scale`."""
        return self.scale.pow(2)

    def sample(self, shape: Sequence[int] = (), seed: int = 0) -> Values:
        """Draws in the shape [*shape, *batch]; a `seed` other than 0 starts a separate stream."""
        return self._scaled(
            lambda sizes: random.gaussian(sizes, 0.0, 1.0, seed, self.dtype), shape, self.scale, self.loc
        )

    def rsample(self, shape: Sequence[int] = ()) -> Values:
        """Draws in the shape [*shape, *batch]."""
        if not isinstance(shape, Iterable):
            raise TypeError("sample shape must be Iterable object.")
        return self.loc + random.normal(shape=self._extend_shape(list(shape))) * self.scale

    def entropy(self) -> Values:
        return 0.5 + 0.5 * math.log(2 * math.pi) + (self.scale + creation.zeros_like(self.loc)).log()

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the density."""
        away = _cast(value, self.loc) - self.loc
        scaled = -1.0 * (away * away) / (2.0 * (self.scale * self.scale))
        return scaled - (self.scale.log() + math.log(math.sqrt(2.0 * math.pi)))

    def probs(self, value: Values) -> Values:
        """The density."""
        away = _cast(value, self.loc) - self.loc
        density = (-1.0 * (away * away) / (2.0 * (self.scale * self.scale))).exp()
        return density / (math.sqrt(2 * math.pi) * self.scale)

    def kl_divergence(self, other: "Normal") -> Values:  # type: ignore[override]
        ratio, away = self.scale / other.scale, (self.loc - other.loc) / other.scale
        ratio = ratio * ratio
        return 0.5 * ratio + 0.5 * (away * away - 1.0 - ratio.log())


class Uniform(_OfTwo):
    """The uniform distribution from `low` up to `high`."""

    def __init__(self, low: Parameter, high: Parameter, name: str | None = None) -> None:
        super().__init__(low, high, name)
        self.low, self.high = self._parameters

    def sample(self, shape: Sequence[int], seed: int = 0) -> Values:  # type: ignore[override]
        """Draws in the shape [*shape, *batch]; a `seed` other than 0 starts a separate stream."""
        return self._scaled(
            lambda sizes: random.uniform(sizes, self.dtype, 0.0, 1.0, seed), shape, self.high - self.low, self.low
        )

    def _inside(self, value: Values) -> Values:
        # Both ends are outside, where torch counts `low` in (recorded, 2.6.2).
        return (self.low < value).astype(value.dtype) * (value < self.high).astype(value.dtype)

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the density."""
        return self._inside(_cast(value, self.low)).log() - (self.high - self.low).log()

    def probs(self, value: Values) -> Values:
        """The density."""
        return self._inside(_cast(value, self.low)) / (self.high - self.low)

    def entropy(self) -> Values:
        return (self.high - self.low).log()


class Categorical(Distribution):
    """Class numbers along the last axis of `logits`.

    As in Paddle 2.6 (read), `probs` and `log_prob` take `logits` for weights and divide them by their sum, while `sample`,
    `entropy` and `kl_divergence` take them for logarithms.
    """

    def __init__(self, logits: Parameter, name: str | None = None) -> None:
        (self.logits,), self.dtype = _as_tensors(logits)
        self.name = name or "Categorical"
        self._prob = self.logits / self.logits.sum(axis=-1, keepdim=True)
        super().__init__()

    def sample(self, shape: Sequence[int]) -> Values:  # type: ignore[override]
        """Class numbers in the shape [*shape, *batch]."""
        lengths = self.logits.shape
        rows = self.logits if len(lengths) < 2 else self.logits.reshape([-1, lengths[-1]])
        drawn = random.multinomial(softmax(rows, axis=-1), int(np.prod(np.array(shape))), True)
        return (drawn if drawn.ndim < 2 else drawn.t()).reshape([*shape, *lengths[:-1]])

    def _log_shares(self) -> tuple[Values, Values]:
        """The logarithms without their largest, and the sum of their exponentials."""
        logits = self.logits - self.logits.max(axis=-1, keepdim=True)
        return logits, logits.exp().sum(axis=-1, keepdim=True)

    def kl_divergence(self, other: "Categorical") -> Values:  # type: ignore[override]
        """The Kullback-Leibler divergence from `other`, the last axis kept with length 1."""
        (logits, total), (others, others_total) = self._log_shares(), other._log_shares()
        shares = logits.exp() / total
        return (shares * (logits - total.log() - others + others_total.log())).sum(axis=-1, keepdim=True)

    def entropy(self) -> Values:
        logits, total = self._log_shares()
        return -1.0 * (logits.exp() / total * (logits - total.log())).sum(axis=-1)

    def probs(self, value: Values) -> Values:
        """The probability of class numbers."""
        axes = len(self._prob.shape)
        if axes == 1:
            return self._prob.gather(value.reshape([-1])).reshape(value.shape)
        places = value.reshape([1] * (axes - 1) + [-1]) if len(value.shape) == 1 else value
        return self._prob.take_along_axis(places, axis=-1)

    def log_prob(self, value: Values) -> Values:
        """The logarithm of `probs`."""
        return self.probs(value).log()


class Bernoulli(Distribution):
    """1 with the probability `probs`, 0 otherwise.

    Raises:
        ValueError: for probabilities outside [0, 1].
    """

    probs: Any

    def __init__(self, probs: float | Values, name: str | None = None) -> None:
        (given,), self.dtype = _as_tensors(probs)
        self.dtype = self.dtype if isinstance(probs, torch.Tensor) else get_default_dtype()
        if not bool(((given >= 0) & (given <= 1)).all()):
            raise ValueError("The arg of `probs` must be in range [0, 1].")
        self.name = name or "Bernoulli"
        # Held off 0 and 1, so that the logarithms are finite: `probs` of 0 reads 1.19e-07 in 2.6.2, too (recorded).
        least = float(np.finfo(self.dtype).eps)
        self.probs = given.clip(least, 1 - least).astype(self.dtype)
        self.logits = self.probs.log() - (-self.probs).log1p()
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Values:
        """`probs`."""
        return self.probs

    @property
    def variance(self) -> Values:
        """probs * (1 - probs)."""
        return self.probs * (1 - self.probs)

    def sample(self, shape: Sequence[int]) -> Values:  # type: ignore[override]
        """Zeros and ones in the shape [*shape, *batch]."""
        with no_grad():
            return random.bernoulli(self.probs.expand(self._extend_shape(shape)))

    def rsample(self, shape: Sequence[int], temperature: float = 1.0) -> Values:  # type: ignore[override]
        """Logarithms of odds that pass gradients; their sigmoid is near 0 or 1 for a low temperature."""
        sizes = self._extend_shape(shape)
        probs, draws = self.probs.expand(sizes), random.rand(sizes, dtype=self.dtype)
        return (draws.log() - (-draws).log1p() + (probs.log() - (-probs).log1p())) / temperature

    def cdf(self, value: Values) -> Values:
        """The probability of at most `value`."""
        value = _cast(value, self.probs)
        some = (value >= 0).astype(value.dtype) * (1 - self.probs)
        return some + (value >= 1).astype(value.dtype) * self.probs

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the probability."""
        value = _cast(value, self.probs)
        return -binary_cross_entropy_with_logits(
            self.logits + creation.zeros_like(value), value + creation.zeros_like(self.logits), reduction="none"
        )

    def entropy(self) -> Values:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def kl_divergence(self, other: "Bernoulli") -> Values:  # type: ignore[override]
        one = self.probs * (self.probs.log() - other.probs.log())
        return one + (1 - self.probs) * ((-self.probs).log1p() - (-other.probs).log1p())


_RULES: dict[tuple[type, type], Callable[[Any, Any], Values]] = {}


def kl_divergence(p: Distribution, q: Distribution) -> Values:
    """The Kullback-Leibler divergence of `p` from `q`, by the rule registered for the nearest of their classes.

    Raises:
        NotImplementedError: without a rule.
    """
    for mine in type(p).__mro__:
        for other in type(q).__mro__:
            if (mine, other) in _RULES:
                return _RULES[mine, other](p, q)
    if type(p) is type(q):
        return p.kl_divergence(q)
    raise NotImplementedError(f"no rule for the divergence of {type(p).__name__} from {type(q).__name__}")


def register_kl(cls_p: type, cls_q: type) -> Callable[[Rule], Rule]:
    """A decorator: the function computes `kl_divergence` of the two classes.

    Raises:
        TypeError: unless both classes are distributions.
    """
    if not (issubclass(cls_p, Distribution) and issubclass(cls_q, Distribution)):
        raise TypeError("cls_p and cls_q must be subclass of Distribution")

    def registered(rule: Rule) -> Rule:
        _RULES[cls_p, cls_q] = rule
        return rule

    return registered
