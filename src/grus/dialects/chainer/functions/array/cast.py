"""Another dtype."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from grus.dialects.chainer._tensors import torch_dtype
from grus.dialects.chainer.configuration import config
from grus.dialects.chainer.functions._checks import AnyFunction
from grus.dialects.chainer.variable import Variable, as_variable


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
