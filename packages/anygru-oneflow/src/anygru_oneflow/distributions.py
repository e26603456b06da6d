"""`oneflow.distributions`: the categorical distribution, from which an agent draws its actions."""

from collections.abc import Sequence
from typing import Any

from .framework.differing import softmax as _softmax
from .framework.dtype import Size as _Size
from .framework.dtype import finfo as _finfo
from .framework.random import multinomial as _multinomial
from .framework.tensor import Tensor as _Tensor


class Categorical:
    """Draws of the whole numbers below K.

    Args:
        probs: weights of at least 0, [..., K]; the attribute has their shares of the sum.
        logits: logarithms of weights instead, [..., K]. They replace the method `logits()` (recorded in 0.9.0).

    Raises:
        ValueError: both or neither are given, or the tensor has no dimension.
    """

    has_rsample, has_enumerate_support, event_shape = False, True, _Size()

    def __init__(self, probs: _Tensor | None = None, logits: _Tensor | None = None, validate_args: None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        assert validate_args is None, f"validate_args must be None, got {validate_args}"
        given: Any = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"`{'logits' if probs is None else 'probs'}` parameter must be at least one-dimensional.")
        self.batch_shape = given.shape[:-1]
        self.probs = _softmax(given, -1) if probs is None else given / given.sum(-1, keepdim=True)
        if probs is None:
            self.logits = given  # type: ignore[method-assign]

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Draws as int64, [*sample_shape, ...], without a gradient."""
        shape = _Size(sample_shape)
        draws = _multinomial(self.probs.reshape(-1, self.probs.shape[-1]), shape.numel(), True)
        return draws.T.reshape((*shape, *self.batch_shape))

    def logits(self) -> Any:
        """The logarithms of `probs`, of which 0 and 1 are rounded to the nearest number between them."""
        least = _finfo(self.probs.dtype).eps
        return self.probs.clamp(least, 1 - least).log()
