"""Tensor products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class TensorDot(TorchFunction):
    def __init__(self, axes: Any = 2) -> None:
        if isinstance(axes, Sequence):
            if len(axes) != 2:
                raise ValueError("axes must be a pair of sequence of integers when it is a list or tuple.")
            axes = [[a] if isinstance(a, int) else list(a) for a in axes]
        elif not isinstance(axes, int):
            raise TypeError("axes must be a pair of sequence of integers or an integer")
        self.axes = axes

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("a", "b"))
        expect(in_types[0].dtype.kind == "f", in_types[1].dtype.kind == "f")

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        pairs = self.axes if isinstance(self.axes, list) else [range(-self.axes, 0), range(self.axes)]
        for i, j in zip(*pairs, strict=False):
            # torch would repeat an axis of size 1.
            if -a.ndim <= i < a.ndim and -b.ndim <= j < b.ndim and a.shape[i] != b.shape[j]:
                raise ValueError(f"tensordot of {tuple(a.shape)} and {tuple(b.shape)}: axes {i} and {j} differ in size")
        try:
            return torch.tensordot(a, b, dims=self.axes)
        except RuntimeError as error:
            raise ValueError(f"tensordot of {tuple(a.shape)} and {tuple(b.shape)}: {error}") from error


def tensordot(a: Any, b: Any, axes: Any = 2) -> Variable:
    """The sum of products over the last `axes` axes of `a` and the first of `b`, or over a pair of lists of axes."""
    return TensorDot(axes).apply((a, b))[0]
