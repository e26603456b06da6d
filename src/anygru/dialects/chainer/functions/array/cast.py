"""Another dtype."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ..._tensors import torch_dtype
from ...configuration import config
from ...functions._checks import AnyFunction
from ...variable import Variable, as_variable


class Cast(AnyFunction):
    def __init__(self, typ: Any) -> None:
        self.type = typ

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.to(torch_dtype(self.type), copy=True)


def cast(x: Any, typ: Any) -> Variable:
    """The array in another dtype; the gradient comes back in the dtype of `x`."""
    if x.dtype == numpy.dtype(typ) and not config.enable_backprop:
        return as_variable(x)
    return Cast(typ).apply((x,))[0]
