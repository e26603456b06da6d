"""Bilinear maps."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class BilinearFunction(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        n_in = type_check.eval(in_types.size())
        if n_in not in (3, 6):
            raise type_check.InvalidType("in_types.size() == 3 or 6", f"{n_in} inputs")
        e1, e2, w = in_types[:3]
        type_check._argname((e1, e2, w), ("e1", "e2", "W"))
        expect(e1.dtype.kind == "f", e1.ndim >= 2, e2.dtype == e1.dtype, e2.ndim >= 2, e1.shape[0] == e2.shape[0])
        expect(w.dtype == e1.dtype, w.ndim == 3)
        if n_in == 6:
            for name, in_type in zip(("V1", "V2", "b"), in_types[3:], strict=True):
                type_check._argname((in_type,), (name,))
                expect(in_type.dtype == e1.dtype)

    def compute(self, *inputs: torch.Tensor) -> torch.Tensor:
        e1, e2, w = inputs[0].flatten(1), inputs[1].flatten(1), inputs[2]
        y = torch.einsum("bi,bj,ijk->bk", e1, e2, w)
        if len(inputs) == 6:
            v1, v2, b = inputs[3:]
            y = y + e1 @ v1 + e2 @ v2 + b
        return y


def bilinear(e1: Any, e2: Any, W: Any, V1: Any = None, V2: Any = None, b: Any = None) -> Variable:
    """`e1 W e2 + e1 V1 + e2 V2 + b` for e1 [B, I], e2 [B, J], W [I, J, K]; V1, V2 and b all or none (ValueError)."""
    extra = [V1, V2, b]
    given = [x for x in extra if x is not None]
    if len(given) not in (0, 3):
        raise ValueError("All coefficients and bias for bilinear() must be None, if at least one of them is None.")
    return BilinearFunction().apply((e1, e2, W, *given))[0]
