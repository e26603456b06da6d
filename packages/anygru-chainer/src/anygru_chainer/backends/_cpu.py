"""The base class of devices, and the CPU, on which arrays are NumPy's."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy

from ..types import NdArray
from ._gpu_array import ndarray as gpu_ndarray


def convert_arrays(arrays: Any, convert: Callable[[Any], Any]) -> Any:
    """Apply `convert` to an array or to each array of a list or tuple (None stays None, one array is converted once)."""
    if not isinstance(arrays, (list, tuple)):
        return convert(arrays)
    seen: dict[int, Any] = {}
    for array in arrays:
        if array is not None and id(array) not in seen:
            seen[id(array)] = convert(array)
    return type(arrays)(None if array is None else seen[id(array)] for array in arrays)


class Device:
    """A place for arrays; see `chainer.get_device`."""

    xp: Any
    name: str
    supported_array_types: tuple[type, ...]

    def __str__(self) -> str:
        return self.name

    def __enter__(self) -> Any:
        raise RuntimeError("a Device is not a context manager; use `with chainer.using_device(device):`")

    def __exit__(self, *args: Any) -> None:
        pass

    def __hash__(self) -> int:
        return hash(self.name)

    def create_context(self) -> Any:
        """The context manager of `chainer.using_device`."""
        return contextlib.nullcontext()

    def send(self, arrays: Any) -> Any:
        """Move an array, or each of a list or tuple, to this device; an array on this device is returned itself."""
        return convert_arrays(arrays, self.send_array)

    def send_array(self, array: NdArray) -> Any:
        """Move one array to this device."""
        raise NotImplementedError

    def use(self) -> None:
        """Make this the current device."""

    def is_array_supported(self, array: NdArray) -> bool:
        """Whether the array is on this device."""
        raise NotImplementedError


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
    """NumPy form of an array, a scalar or None (TypeError for another type)."""
    if array is None or isinstance(array, numpy.ndarray):
        return array
    if isinstance(array, gpu_ndarray):
        return array.get()
    if numpy.isscalar(array):
        return numpy.asarray(array)
    raise TypeError(f"Array cannot be converted into an numpy.ndarray\nActual type: {type(array)}.")


_to_cpu = array_to_cpu
