"""Element types of NumPy and torch, and rounding to single precision."""

import math

import numpy as np
import torch

NUMPY_OF_TORCH: dict[torch.dtype, np.dtype] = {
    getattr(torch, name): np.dtype(name)
    for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
}
"""The types that NumPy and torch both have and that arrays of numbers use."""
TORCH_OF_NUMPY = {numpy_dtype: dtype for dtype, numpy_dtype in NUMPY_OF_TORCH.items()}

_LARGEST_SINGLE = float(np.finfo(np.float32).max)


def single(value: float) -> float:
    """`value` rounded to single precision: how kernels with `float` options take them, even for float64 tensors."""
    value = float(value)
    return math.copysign(math.inf, value) if abs(value) > _LARGEST_SINGLE else float(np.float32(value))
