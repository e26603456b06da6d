"""Repeating the whole."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction
from ...variable import Variable


def as_counts(name: str, value: Any) -> tuple[int, ...]:
    """Non-negative counts from an int or a tuple of ints (TypeError, ValueError)."""
    if isinstance(value, int):
        value = (value,)
    if not (isinstance(value, tuple) and all(isinstance(count, int) for count in value)):
        raise TypeError(f"{name} must be int or tuple of ints.\nActual: {type(value)}")
    if any(count < 0 for count in value):
        raise ValueError(f"all elements in {name} must be zero or larger, got {value}")
    return value


class Tile(AnyFunction):
    def __init__(self, reps: Any) -> None:
        self.reps = as_counts("reps", reps)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.tile(self.reps)


def tile(x: Any, reps: Any) -> Variable:
    """The array side by side with itself, `reps` times along each axis, as `numpy.tile`."""
    return Tile(reps).apply((x,))[0]
