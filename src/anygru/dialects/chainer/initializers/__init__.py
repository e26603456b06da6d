"""Initializers: objects that fill an array with its first values.

Random ones draw from NumPy's global generator (or from `rng`), so that a seed gives the values it always gave.
"""

from __future__ import annotations

from typing import Any

import numpy

from .. import backend
from ..backends import cuda
from ..configuration import config
from ..initializers.constant import Constant, Identity, NaN, One, Zero
from ..initializers.normal import GlorotNormal, HeNormal, LeCunNormal, Normal
from ..initializers.orthogonal import Orthogonal
from ..initializers.uniform import GlorotUniform, HeUniform, LeCunUniform, Uniform

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "LeCunNormal",
    "LeCunUniform",
    "NaN",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Zero",
    "generate_array",
]


def generate_array(initializer: Any, shape: Any, xp: Any, dtype: Any = None, device: Any = None) -> Any:
    """A new array filled by an initializer.

    Its dtype is `dtype`, else the initializer's, else the configured one; ValueError if the first two differ.
    """
    asked = getattr(initializer, "dtype", None)
    if dtype is not None and asked is not None and numpy.dtype(dtype) != numpy.dtype(asked):
        raise ValueError(f"dtype mismatch: {dtype} != {asked}")
    dtype = asked if dtype is None else dtype
    if device is None:
        device = backend.CpuDevice() if xp is numpy else backend.GpuDevice(cuda.Device())
    with backend.using_device(device):
        array = xp.empty(shape, dtype=numpy.dtype(config.dtype if dtype is None else dtype))
        initializer(array)
    return array


def _get_initializer(initializer: Any) -> Any:
    """An initializer from None (LeCunNormal), a scalar, an array or a callable; TypeError for anything else."""
    if initializer is None:
        return LeCunNormal()
    if isinstance(initializer, (numpy.ndarray, cuda.ndarray)) or numpy.isscalar(initializer):
        return Constant(initializer)
    if not callable(initializer):
        raise TypeError(f"invalid type of initializer: {type(initializer)}; give a callable, a scalar or an array")
    return initializer


def _check_is_initializer_like(initializer: Any) -> None:
    """Raise TypeError unless `_get_initializer` takes it."""
    if initializer is not None:
        _get_initializer(initializer)
