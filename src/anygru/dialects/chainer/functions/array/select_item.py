"""One element a row."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class SelectItem(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        expect(t.dtype.kind == "i", x.ndim == 2, t.ndim == 1, x.shape[0] == t.shape[0])

    def compute(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x[torch.arange(len(t), device=x.device), t.long()]


def select_item(x: Any, t: Any) -> Variable:
    """`x[i, t[i]]` for each row i of x [B, N]."""
    return SelectItem().apply((x, t))[0]
