"""One axis at another place."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import AnyFunction, expect, expect_axes
from ...variable import Variable


class Rollaxis(AnyFunction):
    def __init__(self, axis: int, start: int) -> None:
        for name, value in (("axis", axis), ("start", start)):
            if not isinstance(value, int):
                raise TypeError(f"{name} must be int, got {value!r}")
        self.axis = axis
        self.start = start

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect_axes((self.axis,), in_types[0])
        if self.start >= 0:
            expect(in_types[0].ndim >= self.start)
        else:
            expect(in_types[0].ndim > -self.start - 1)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        axis, start = self.axis % x.ndim, self.start + x.ndim if self.start < 0 else self.start
        return x.movedim(axis, start - 1 if axis < start else start)


def rollaxis(x: Any, axis: int, start: int = 0) -> Variable:
    """The array with an axis moved before the axis `start`."""
    return Rollaxis(axis, start).apply((x,))[0]
