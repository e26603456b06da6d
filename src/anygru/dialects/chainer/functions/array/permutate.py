"""Another order along an axis."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ...backends import _cpu
from ...functions._checks import AnyFunction, expect_axes
from ...variable import Variable, as_array


class Permutate(AnyFunction):
    def __init__(self, indices: Any, axis: int, inv: bool) -> None:
        self.indices = indices
        self.axis = axis
        self.inv = inv

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect_axes((self.axis,), in_types[0])

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        order = _cpu.array_to_cpu(self.indices).astype(numpy.int64)
        if len(order) and not (order.min() >= 0 and order.max() < x.shape[self.axis]):
            raise IndexError(f"indices must be below {x.shape[self.axis]}, the size of axis {self.axis}, got {order}")
        return x.index_select(self.axis, torch.from_numpy(numpy.argsort(order) if self.inv else order).to(x.device))


def permutate(x: Any, indices: Any, axis: int = 0, inv: bool = False) -> Variable:
    """The array in the order given by `indices` (int array) along an axis, or in the inverse of that order.

    Raises:
        ValueError: `indices` is no one-dimensional int array.
    """
    if indices.dtype.kind != "i" or indices.ndim != 1:
        raise ValueError("indices should be a one-dimensional int array")
    return Permutate(as_array(indices), axis, inv).apply((x,))[0]
