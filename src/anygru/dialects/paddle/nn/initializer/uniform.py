"""Evenly distributed values."""

from __future__ import annotations

import torch

from ...tensor.random import uniform_values
from .initializer import Initializer


class Uniform(Initializer):
    """Numbers evenly from `low` to `high`."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        if low is None or high is None or high < low:
            raise AssertionError(f"Uniform: low must not be above high, got {low} and {high}")
        self._low, self._high = float(low), float(high)

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        return uniform_values(shape, self._low, self._high, dtype)


class UniformInitializer(Uniform):
    """The name of `Uniform` in fluid."""

    def __init__(self, low: float = -1.0, high: float = 1.0, seed: int = 0) -> None:
        super().__init__(low, high)
        self._seed = seed

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`; always the same ones if a seed was given."""
        from ...tensor.random import uniform

        return uniform(shape, dtype, self._low, self._high, self._seed)
