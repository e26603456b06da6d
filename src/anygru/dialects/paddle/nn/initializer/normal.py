"""Normally distributed values."""

from __future__ import annotations

import math

import torch

from ...framework.dtype import single
from ...tensor.random import normal_values, uniform_values
from .initializer import Initializer


class Normal(Initializer):
    """Normal numbers of mean `mean` and standard deviation `std`."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        if mean is None or std is None:
            raise ValueError("Normal: mean and std must not be None")
        self._mean, self._std = float(mean), float(std)

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        return normal_values(shape, self._mean, self._std, dtype)


class NormalInitializer(Normal):
    """The name of `Normal` in fluid."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(loc, scale)


class TruncatedNormal(Initializer):
    """Normal numbers, those further than two standard deviations from the mean left out."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self._mean, self._std = float(mean), float(std)

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`, by inverting the distribution function."""
        low = 0.5 * (1 + math.erf(-2 / math.sqrt(2)))
        high = 1 - low
        draws = uniform_values(shape, torch.finfo(dtype).tiny, 1.0, dtype).as_subclass(torch.Tensor)
        normal = math.sqrt(2) * torch.erfinv(2 * (low + (high - low) * draws) - 1)
        return normal * single(self._std) + single(self._mean)


class TruncatedNormalInitializer(TruncatedNormal):
    """The name of `TruncatedNormal` in fluid."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(loc, scale)
