"""Products of matrices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


def _inner_axis(transposed: bool, right: bool) -> int:
    """The axis of an operand (counted from the end) that the product sums over."""
    return -2 if transposed != right else -1


class MatMul(TorchFunction):
    def __init__(self, transa: bool = False, transb: bool = False) -> None:
        self.transa = transa
        self.transb = transb

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("a", "b"))
        a, b = in_types
        expect(a.dtype.kind == "f", b.dtype.kind == "f", a.ndim >= 1, b.ndim >= 1)
        a_ndim, b_ndim = type_check.eval(a.ndim), type_check.eval(b.ndim)
        a_axis = _inner_axis(self.transa, False) if a_ndim > 1 else 0
        b_axis = _inner_axis(self.transb, True) if b_ndim > 1 else 0
        expect(a.shape[a_axis] == b.shape[b_axis])
        if a_ndim > 1 and b_ndim > 1:
            type_check.expect_broadcast_shapes(a.shape[:-2], b.shape[:-2])

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        a = a.transpose(-1, -2) if self.transa and a.ndim > 1 else a
        b = b.transpose(-1, -2) if self.transb and b.ndim > 1 else b
        if a.dtype != b.dtype:
            common = torch.promote_types(a.dtype, b.dtype)
            a, b = a.to(common), b.to(common)
        return a @ b


def matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Variable:
    """The matrix product of two arrays (each transposed in its last two axes on demand), as `numpy.matmul`."""
    return MatMul(transa, transb).apply((a, b))[0]


class BatchMatMul(TorchFunction):
    def __init__(self, transa: bool = False, transb: bool = False) -> None:
        self.transa = transa
        self.transb = transb

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("a", "b"))
        a, b = in_types
        expect(a.dtype == numpy.float32, b.dtype == numpy.float32)
        expect(a.ndim >= 2, a.ndim <= 3, b.ndim >= 2, b.ndim <= 3)
        sizes = []
        for in_type, transposed, right in ((a, self.transa, False), (b, self.transb, True)):
            axis = 3 + _inner_axis(transposed, right)
            sizes.append(1 if axis == 2 and type_check.eval(in_type.ndim) == 2 else in_type.shape[axis])
        expect(sizes[0] == sizes[1])

    def compute(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        a = a.reshape(*a.shape[:2], -1)
        b = b.reshape(*b.shape[:2], -1)
        return (a.transpose(1, 2) if self.transa else a) @ (b.transpose(1, 2) if self.transb else b)


def batch_matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Variable:
    """The matrix products of two batches of matrices (or of vectors, taken as columns). Deprecated: use `matmul`."""
    warnings.warn("batch_matmul is deprecated. Use matmul instead.", DeprecationWarning)
    return BatchMatMul(transa, transb).apply((a, b))[0]
