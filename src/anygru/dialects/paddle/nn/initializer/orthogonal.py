"""Orthogonal matrices (A. Saxe and others, 2013)."""

from __future__ import annotations

import math

import torch

from ...tensor.random import normal_values
from .initializer import Initializer


class Orthogonal(Initializer):
    """A matrix whose rows or columns, whichever are fewer, are orthogonal and of length `gain`."""

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        if gain is None:
            raise ValueError("Orthogonal: gain must not be None")
        self._gain = gain

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """A new random matrix; axes after the first count as one.

        Raises:
            AssertionError: for fewer than two axes.
        """
        if len(shape) < 2:
            raise AssertionError(f"Only Tensor with 2 or more dimensions can be initialized by Orthogonal, got {shape}")
        rows, columns = shape[0], math.prod(shape[1:])
        flat = [max(rows, columns), min(rows, columns)]
        q, r = torch.linalg.qr(normal_values(flat, 0.0, 1.0, dtype).as_subclass(torch.Tensor))
        q = q * torch.sign(torch.diagonal(r))
        return (q.T if rows < columns else q).reshape(shape) * self._gain
