"""Values scaled by the numbers of inputs and outputs (X. Glorot, Y. Bengio, 2010)."""

from __future__ import annotations

import math

import torch

from ...tensor.random import normal_values, uniform_values
from .initializer import Initializer, fans


class XavierInitializer(Initializer):
    """Uniform or normal values of variance 2 / (fan_in + fan_out)."""

    def __init__(
        self, uniform: bool = True, fan_in: float | None = None, fan_out: float | None = None, seed: int = 0
    ) -> None:
        self._uniform, self._fan_in, self._fan_out = uniform, fan_in, fan_out

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        rows, columns = fans(shape)
        fan_in: float = rows if self._fan_in is None else self._fan_in
        fan_out: float = columns if self._fan_out is None else self._fan_out
        if self._uniform:
            limit = math.sqrt(6.0 / (fan_in + fan_out))
            return uniform_values(shape, -limit, limit, dtype)
        return normal_values(shape, 0.0, math.sqrt(2.0 / (fan_in + fan_out)), dtype)


class XavierUniform(XavierInitializer):
    """Numbers evenly within sqrt(6 / (fan_in + fan_out)) of 0."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, name: str | None = None) -> None:
        super().__init__(True, fan_in, fan_out)


class XavierNormal(XavierInitializer):
    """Normal numbers of standard deviation sqrt(2 / (fan_in + fan_out))."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, name: str | None = None) -> None:
        super().__init__(False, fan_in, fan_out)
