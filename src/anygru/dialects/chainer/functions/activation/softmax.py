"""The softmax."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction, as_runtime_error, expect
from ...utils import type_check
from ...variable import Variable


class AlongAxis(FloatFunction):
    """A function of one floating point array along one axis."""

    def __init__(self, axis: int = 1) -> None:
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        with as_runtime_error():
            super().check_type_forward(in_types)
            axis = type_check.make_variable(self.axis, "axis")
            expect(-in_types[0].ndim <= axis, axis < in_types[0].ndim)


class Softmax(AlongAxis):
    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.softmax(x, self.axis)


def softmax(x: Any, axis: int = 1) -> Variable:
    """`exp(x) / sum(exp(x))` along an axis."""
    return Softmax(axis).apply((x,))[0]
