"""Names for the kinds of values that the dialect passes around."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

Shape = tuple[int, ...]
ShapeSpec = int | Sequence[int]
DTypeSpec = Any
NdArray = Any  # numpy.ndarray, or backends.cuda.ndarray on a GPU
Xp = Any  # the module that makes arrays: numpy, or backends.cuda.cupy
InitializerSpec = Any  # a callable that fills an array, a scalar or an array
VariableLike = Any  # a Variable, or an array
DeviceSpec = Any  # a Device, an integer id, or a text such as "@numpy" and "@cupy:0"

__all__ = [
    "TYPE_CHECKING", "DTypeSpec", "DeviceSpec", "InitializerSpec", "NdArray", "Shape", "ShapeSpec", "VariableLike",
    "Xp",
]  # fmt: skip
