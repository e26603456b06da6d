"""The CPU: arrays are NumPy's."""

from typing import Any

import numpy

from ..types import NdArray
from ._gpu_array import ndarray as gpu_ndarray
from ._interface import Device, convert_arrays


class CpuDevice(Device):
    """The device "@numpy"."""

    name = "@numpy"
    xp = numpy
    supported_array_types = (numpy.ndarray,)

    @staticmethod
    def from_array(array: NdArray) -> "CpuDevice | None":
        """The CPU device if `array` is a NumPy array; None otherwise."""
        return CpuDevice() if isinstance(array, numpy.ndarray) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CpuDevice)

    __hash__ = Device.__hash__

    def __repr__(self) -> str:
        return "<CpuDevice (numpy)>"

    def send_array(self, array: NdArray) -> Any:
        return array_to_cpu(array)

    def is_array_supported(self, array: NdArray) -> bool:
        return isinstance(array, numpy.ndarray)


def to_cpu(arrays: Any) -> Any:
    """NumPy form of an array or of each array of a list or tuple."""
    return convert_arrays(arrays, array_to_cpu)


def array_to_cpu(array: NdArray) -> Any:
    """NumPy form of an array, a scalar or None (TypeError for anything else)."""
    if array is None or isinstance(array, numpy.ndarray):
        return array
    if isinstance(array, gpu_ndarray):
        return array.get()
    if numpy.isscalar(array):
        return numpy.asarray(array)
    raise TypeError(f"Array cannot be converted into an numpy.ndarray\nActual type: {type(array)}.")


_to_cpu = array_to_cpu
