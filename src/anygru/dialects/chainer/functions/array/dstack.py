"""Stacking along the third axis."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...functions.array.concat import expect_alike
from ...utils import type_check
from ...variable import Variable


class Dstack(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() > 0)
        type_check._argname(in_types, [f"x{i}" for i in range(len(in_types))])
        expect_alike(in_types, 2 if type_check.eval(in_types[0].ndim) > 2 else None)

    def compute(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.dstack(xs)


def dstack(xs: Any) -> Variable:
    """Join arrays along the third axis (which is added where it is missing)."""
    return Dstack().apply(xs)[0]
