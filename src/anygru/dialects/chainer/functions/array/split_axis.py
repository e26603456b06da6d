"""Splitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check


class SplitAxis(TorchFunction):
    def __init__(self, indices_or_sections: Any, axis: int) -> None:
        self.indices, self.sections = _indices_or_sections(indices_or_sections)
        self.axis = axis

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() == 1)
        expect(in_types[0].ndim > self.axis)
        size = in_types[0].shape[self.axis]
        if self.indices is None:
            expect(size % type_check.make_variable(self.sections, "sections") == 0)
        elif self.indices:
            expect(size >= type_check.make_variable(self.indices[-1], "max_index"))

    def compute(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:  # type: ignore[override]
        if self.indices is None:
            assert self.sections is not None
            return (
                x.split(x.shape[self.axis] // self.sections, self.axis) if x.shape[self.axis] else (x,) * self.sections
            )
        bounds = [0, *self.indices, x.shape[self.axis]]
        return tuple(
            x.narrow(self.axis, start, max(stop - start, 0)) for start, stop in zip(bounds, bounds[1:], strict=False)
        )


def _indices_or_sections(value: Any) -> tuple[list[int] | None, int | None]:
    if isinstance(value, int):
        return None, value
    if isinstance(value, numpy.ndarray):
        if value.dtype.kind != "i" and value.size > 0:
            raise TypeError(f"indices_or_sections must be integers, got {value.dtype}")
        if value.ndim >= 2:
            raise TypeError(f"indices_or_sections must be 1-D sequence, got {value.ndim} dimensions")
        return (None, int(value)) if value.ndim == 0 else ([int(i) for i in value], None)
    if isinstance(value, Sequence):
        return [int(i) for i in value], None
    raise TypeError(f"indices_or_sections must be integer or 1-D array.\nActual: {type(value)}")


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    """Split an array along an axis, as `numpy.split` does.

    Args:
        indices_or_sections: number of equal parts, or the places where the later parts begin.
        force_tuple: give a tuple even if there is one part only.

    Raises:
        InvalidType: the axis cannot be divided into so many parts, or ends before the last place.
        TypeError: `indices_or_sections` is neither an int nor a sequence of ints.
    """
    parts = SplitAxis(indices_or_sections, axis).apply((x,))
    return parts if force_tuple or len(parts) != 1 else parts[0]
