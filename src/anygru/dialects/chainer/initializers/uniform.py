"""Initializers that draw from a uniform distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .. import backend
from ..initializer import Initializer, get_fans


class Uniform(Initializer):
    """Between `-scale` and `scale`. `rng` is a NumPy RandomState; None for the global generator."""

    def __init__(self, scale: float = 0.05, dtype: Any = None, *, rng: Any = None) -> None:
        self.scale = scale
        self.rng = rng
        super().__init__(dtype)

    def bound(self, shape: tuple[int, ...]) -> float:
        """The largest value for an array of this shape."""
        return self.scale

    def __call__(self, array: Any) -> None:
        self.check_dtype(array)
        draw = numpy.random if self.rng is None else self.rng
        bound = self.bound(array.shape)
        values = draw.uniform(low=-bound, high=bound, size=array.shape)
        backend.copyto(array, numpy.asarray(values).astype(array.dtype))


class LeCunUniform(Uniform):
    """Bound `scale * sqrt(3 / fan_in)` (LeCun et al., 1998)."""

    def __init__(self, scale: float = 1.0, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)

    def bound(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(3.0 / get_fans(shape)[0])


class GlorotUniform(Uniform):
    """Bound `scale * sqrt(6 / (fan_in + fan_out))` (Glorot and Bengio, 2010)."""

    def __init__(self, scale: float = 1.0, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)

    def bound(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(6.0 / sum(get_fans(shape)))


class HeUniform(Uniform):
    """Bound `scale * sqrt(6 / fan_in)` (He et al., 2015)."""

    def __init__(self, scale: float = 1.0, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)

    def bound(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(6.0 / get_fans(shape)[0])
