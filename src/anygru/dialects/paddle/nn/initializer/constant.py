"""One value everywhere."""

from __future__ import annotations

import torch

from .initializer import Initializer


class Constant(Initializer):
    """`value` everywhere."""

    def __init__(self, value: float = 0.0) -> None:
        if value is None:
            raise ValueError("Constant: value must be a number, got None")
        self._value = value

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """`value` in a tensor of `shape`."""
        return torch.full(shape, self._value, dtype=dtype)


class ConstantInitializer(Constant):
    """The name of `Constant` in fluid."""

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        super().__init__(value)
