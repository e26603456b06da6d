"""Values scaled by the number of inputs, for rectified layers (K. He and others, 2015)."""

from __future__ import annotations

import math

import torch

from ...tensor.random import normal_values, uniform_values
from .initializer import Initializer, calculate_gain, fans


class MSRAInitializer(Initializer):
    """Uniform or normal values of variance gain ** 2 / fan_in."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        seed: int = 0,
        negative_slope: float = 0,
        nonlinearity: str = "relu",
    ) -> None:
        self._uniform, self._fan_in = uniform, fan_in
        self._negative_slope, self._nonlinearity = negative_slope, nonlinearity

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        fan_in = fans(shape)[0] if self._fan_in is None else self._fan_in
        std = calculate_gain(self._nonlinearity, self._negative_slope) / math.sqrt(fan_in)
        if self._uniform:
            limit = math.sqrt(3.0) * std
            return uniform_values(shape, -limit, limit, dtype)
        return normal_values(shape, 0.0, std, dtype)


class KaimingUniform(MSRAInitializer):
    """Numbers evenly within gain * sqrt(3 / fan_in) of 0."""

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> None:
        super().__init__(True, fan_in, 0, negative_slope, nonlinearity)


class KaimingNormal(MSRAInitializer):
    """Normal numbers of standard deviation gain / sqrt(fan_in)."""

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> None:
        super().__init__(False, fan_in, 0, negative_slope, nonlinearity)
