"""Initializers that draw from a normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .. import backend
from ..initializer import Initializer, get_fans


class Normal(Initializer):
    """Mean 0 and standard deviation `scale`. `rng` is a NumPy RandomState; None for the global generator."""

    def __init__(self, scale: float = 0.05, dtype: Any = None, *, rng: Any = None) -> None:
        self.scale = scale
        self.rng = rng
        super().__init__(dtype)

    def deviation(self, shape: tuple[int, ...]) -> float:
        """The standard deviation for an array of this shape."""
        return self.scale

    def __call__(self, array: Any) -> None:
        self.check_dtype(array)
        draw = numpy.random if self.rng is None else self.rng
        values = draw.normal(loc=0.0, scale=self.deviation(array.shape), size=array.shape)
        backend.copyto(array, numpy.asarray(values).astype(array.dtype))


class LeCunNormal(Normal):
    """Standard deviation `scale / sqrt(fan_in)` (LeCun et al., Efficient BackProp, 1998). The default of most links."""

    def __init__(self, scale: float = 1.0, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)

    def deviation(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(1.0 / get_fans(shape)[0])


class GlorotNormal(Normal):
    """Standard deviation `scale * sqrt(2 / (fan_in + fan_out))` (Glorot and Bengio, 2010)."""

    def __init__(self, scale: float = 1.0, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)

    def deviation(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(2.0 / sum(get_fans(shape)))


class HeNormal(Normal):
    """Standard deviation `scale * sqrt(2 / fan)` with the fan named by `fan_option` (He et al., 2015)."""

    def __init__(self, scale: float = 1.0, dtype: Any = None, fan_option: str = "fan_in", *, rng: Any = None) -> None:
        self.fan_option = fan_option
        super().__init__(scale, dtype, rng=rng)

    def deviation(self, shape: tuple[int, ...]) -> float:
        fan_in, fan_out = get_fans(shape)
        if self.fan_option not in ("fan_in", "fan_out"):
            raise ValueError(f"fan_option should be either 'fan_in' or 'fan_out'. Actual: {self.fan_option!r}")
        return self.scale * math.sqrt(2.0 / (fan_in if self.fan_option == "fan_in" else fan_out))
