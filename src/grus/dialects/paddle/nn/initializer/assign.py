"""Given values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from .initializer import Initializer


class Assign(Initializer):
    """The values of a tensor, array or list, in the parameter's shape.

    Raises:
        TypeError: for values of another kind.
        AssertionError: when used on a parameter with another number of elements.
    """

    def __init__(self, value: Any, name: str | None = None) -> None:
        if not isinstance(value, (torch.Tensor, np.ndarray, list, tuple)):
            raise TypeError(f"Assign: value must be a Tensor, a numpy array, a list or a tuple, got {type(value).__name__}")
        self._value = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """The given values in `shape`."""
        if self._value.size != math.prod(shape):
            raise AssertionError(f"Assign: {self._value.size} values do not fill a parameter of shape {shape}")
        return torch.from_numpy(np.ascontiguousarray(self._value)).to(dtype).reshape(shape)


class NumpyArrayInitializer(Assign):
    """The name of `Assign` in fluid."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
