"""Element types of NumPy and torch, rounding to single precision, and differences from a mean."""

import math
from collections.abc import Sequence

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


def centred(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """`x` minus its mean over `axes`, for torch's kernels of normalizations.

    They compute x * scale - mean * scale, which leaves rounding errors where the mean is far greater than the deviation: 3e-5
    and not 0 for one element. A normalization does not depend on the mean, so the mean needs no gradient.
    """
    # The kernels compute these types in float32; a difference in them would be rounded.
    if x.dtype in (torch.float16, torch.bfloat16):
        return x
    return torch.sub(x, torch.mean(x.detach(), dim=list(axes), keepdim=True))
