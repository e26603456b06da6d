"""Adding at places."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...functions.array.get_item import GetItem, take
from ...utils import type_check
from ...variable import Variable


class ScatterAdd(TorchFunction):
    def __init__(self, slices: Any) -> None:
        self.slices = GetItem(slices).slices

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("a", "b"))
        expect(in_types[0].ndim >= sum(key is not None for key in self.slices))

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        places = take(torch.arange(a.numel(), device=a.device).reshape(a.shape), self.slices)
        return a.reshape(-1).index_add(0, places.reshape(-1), b.expand(places.shape).reshape(-1)).reshape(a.shape)


def scatter_add(a: Any, slices: Any, b: Any) -> Variable:
    """`a` with `b` added at `a[slices]`; a place that is named twice is added to twice."""
    return ScatterAdd(slices).apply((a, b))[0]
