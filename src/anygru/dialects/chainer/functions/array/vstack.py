"""Vertical stacking."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...functions.array.concat import expect_alike
from ...utils import type_check
from ...variable import Variable


class Vstack(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() > 0)
        expect_alike(in_types, 0 if type_check.eval(in_types[0].ndim) > 1 else None)

    def compute(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.vstack(xs)


def vstack(xs: Any) -> Variable:
    """Join arrays along the first axis (one-dimensional ones become rows)."""
    return Vstack().apply(xs)[0]
