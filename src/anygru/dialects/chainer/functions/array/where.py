"""Choosing by a condition."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ..._tensors import as_tensor
from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import force_array, type_check
from ...variable import Variable, as_array


class Where(TorchFunction):
    def __init__(self, condition: Any) -> None:
        self.condition = force_array(as_array(condition))

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "y"))
        info = type_check.TypeInfo(self.condition.shape, self.condition.dtype)
        condition = type_check.make_variable(info, "condition")
        expect(condition.dtype == numpy.bool_, in_types[0].dtype == in_types[1].dtype)
        type_check.expect_broadcast_shapes(condition.shape, in_types[0].shape, in_types[1].shape)

    def compute(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.where(as_tensor(self.condition).to(x.device), x, y)


def where(condition: Any, x: Any, y: Any) -> Variable:
    """`x` where the boolean array holds, `y` elsewhere."""
    return Where(condition).apply((x, y))[0]
