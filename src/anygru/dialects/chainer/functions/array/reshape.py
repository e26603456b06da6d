"""Another shape."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...functions._checks import AnyFunction, expect
from ...utils import type_check
from ...variable import Variable, as_variable


class Reshape(AnyFunction):
    def __init__(self, shape: Any) -> None:
        self.shape = tuple(shape)
        if sum(size < 0 for size in self.shape) > 1:
            raise AssertionError(f"shape may leave one size open (-1), got {self.shape}")

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        size = type_check.prod(in_types[0].shape)
        if min(self.shape, default=0) >= 0:
            expect(size == type_check.prod(self.shape))
        else:
            known = math.prod(s for s in self.shape if s > 0)
            expect(size % type_check.make_variable(known, f"known_size(={known})") == 0)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.reshape(self.shape)


def reshape(x: Any, shape: Any) -> Variable:
    """The same elements in another shape, in which one size may be left open (-1)."""
    return as_variable(x) if x.shape == shape else Reshape(shape).apply((x,))[0]
