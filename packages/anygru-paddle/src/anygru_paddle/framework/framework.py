"""The dtype of new floating-point tensors, and whether gradients are recorded."""

from typing import Any

import numpy as np
import torch

from .dtype import as_dtype, bfloat16, dtype, float16, float32, float64

__all__ = ["get_default_dtype", "set_default_dtype"]

_default = float32


def set_default_dtype(d: Any) -> None:
    """Make `d` (float16, float32, float64 or bfloat16; a dtype, name or NumPy type) the dtype of new float tensors.

    Raises:
        TypeError: for any other type.
    """
    global _default
    if isinstance(d, type) and d not in (np.float16, np.float32, np.float64):
        raise TypeError(
            f"set_default_dtype only supports [float16, float32, float64, bfloat16], but received {d.__name__}"
        )
    wanted = as_dtype(d)
    if wanted not in (float16, float32, float64, bfloat16):
        raise TypeError(
            f"set_default_dtype only supports [float16, float32, float64, bfloat16], but received {wanted.spelling}"
        )
    _default = wanted


def get_default_dtype() -> str:
    """The name of the default dtype, 'float32' unless set otherwise."""
    return _default.spelling


def default_dtype() -> dtype:
    """The default dtype itself."""
    return _default


def default_torch_dtype() -> torch.dtype:
    """The default dtype as torch names it."""
    return _default.torch
