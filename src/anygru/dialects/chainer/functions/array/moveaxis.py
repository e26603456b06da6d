"""Axes at other places."""

from __future__ import annotations

from typing import Any

import torch

from ...functions._checks import FloatFunction, expect_axes
from ...variable import Variable


class Moveaxis(FloatFunction):
    def __init__(self, source: Any, destination: Any) -> None:
        self.source = (source,) if isinstance(source, int) else source
        self.destination = (destination,) if isinstance(destination, int) else destination

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect_axes(self.source, in_types[0])
        expect_axes(self.destination, in_types[0])

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        for name in ("source", "destination"):
            axes = [axis % x.ndim for axis in getattr(self, name)]
            if len(set(axes)) != len(axes):
                raise ValueError(f"duplicate value in {name} axis: {getattr(self, name)}")
        if len(self.source) != len(self.destination):
            raise ValueError("Length of source and destination are different.")
        return x.moveaxis(self.source, self.destination)


def moveaxis(x: Any, source: Any, destination: Any) -> Variable:
    """The array with some axes (an int or a tuple) at other places, the rest in their order."""
    return Moveaxis(source, destination).apply((x,))[0]
