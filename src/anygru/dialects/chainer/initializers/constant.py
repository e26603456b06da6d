"""Initializers without chance."""

from __future__ import annotations

from typing import Any

import numpy

from .. import backend
from ..backends import cuda
from ..initializer import Initializer


class Identity(Initializer):
    """The identity matrix times `scale`; ValueError unless the array is a square matrix."""

    def __init__(self, scale: float = 1.0, dtype: Any = None) -> None:
        self.scale = scale
        super().__init__(dtype)

    def __call__(self, array: Any) -> None:
        self.check_dtype(array)
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise ValueError(
                f"Identity matrix initialization can only be used for 2D squared matrices. Actual shape: {array.shape}"
            )
        backend.copyto(array, (numpy.identity(len(array)) * self.scale).astype(array.dtype))


class _Constant(Initializer):
    fill_value: Any = None

    def __init__(self, dtype: Any = None) -> None:
        if not (isinstance(self.fill_value, (numpy.ndarray, cuda.ndarray)) or numpy.isscalar(self.fill_value)):
            raise ValueError(f"fill_value must be either a scalar or an array. Actual: {type(self.fill_value)}")
        super().__init__(dtype)

    def __call__(self, array: Any) -> None:
        self.check_dtype(array)
        if numpy.isscalar(self.fill_value):
            array[...] = self.fill_value
        else:
            backend.copyto(array, self.fill_value.astype(array.dtype, copy=False))


class Constant(_Constant):
    """One value everywhere, or the values of an array."""

    def __init__(self, fill_value: Any, dtype: Any = None) -> None:
        self.fill_value = fill_value
        super().__init__(dtype)


class Zero(_Constant):
    """Zeros."""

    fill_value = 0.0


class One(_Constant):
    """Ones."""

    fill_value = 1.0


class NaN(_Constant):
    """NaN everywhere: a parameter that was forgotten is seen at once."""

    fill_value = numpy.nan
