"""Devices by name, the device of an array, copies between devices."""

from typing import Any

import numpy

from .backends import _cpu, cuda
from .backends._cpu import CpuDevice, Device
from .backends.cuda import GpuDevice, get_array_module
from .types import DeviceSpec, NdArray

__all__ = [
    "ChainerxDevice", "CpuDevice", "Device", "GpuDevice", "Intel64Device", "copyto", "from_chx", "get_array_module",
    "get_device", "get_device_from_array", "to_chx", "using_device",
]  # fmt: skip


class ChainerxDevice(Device):
    """A class without instances, for `isinstance`."""

    def __init__(self, device: DeviceSpec) -> None:
        raise RuntimeError("ChainerX is not available.")

    @staticmethod
    def from_array(array: NdArray) -> None:
        """None: no array is on such a device."""


class Intel64Device(Device):
    """A class without instances, for `isinstance`."""

    def __init__(self) -> None:
        raise RuntimeError("iDeep is not available, and anygru has its own CPU kernels: use CpuDevice")

    from_array = ChainerxDevice.from_array


class WithoutOtherDevices:
    """The moves to ChainerX and iDeep, which do not exist here, of Variables and links."""

    def to_intel64(self) -> Any:
        """iDeep does not exist here: RuntimeError."""
        raise RuntimeError("iDeep is not available, and anygru has its own CPU kernels: use to_device('@numpy')")

    def to_chx(self) -> Any:
        """ChainerX does not exist here: RuntimeError."""
        raise RuntimeError("ChainerX is not available.")

    def from_chx(self) -> Any:
        """Does nothing: ChainerX arrays do not exist here. Returns self."""
        return self


def contains_nan(array: NdArray) -> bool:
    """Whether a floating point array has a NaN."""
    return array.dtype.kind == "f" and bool(get_array_module(array).isnan(array).any())


def copyto(dst: NdArray, src: NdArray) -> None:
    """Write the values of one array into another of the same shape (broadcasting), across devices if need be."""
    if isinstance(dst, numpy.ndarray):
        numpy.copyto(dst, _cpu.array_to_cpu(src))
    elif isinstance(dst, cuda.ndarray):
        dst[...] = cuda.to_gpu(src, dst.device)
    else:
        raise TypeError(f"cannot copy to non-array object of type {type(dst)}")


def get_device(device_spec: DeviceSpec) -> Device:
    """A device from a device, a number (negative: the CPU) or a text: "@numpy", "@cupy:N", "-1", "0".

    Raises ValueError for an unknown "@..." text, TypeError for another type, RuntimeError for a GPU or for a text
    without "@" (a ChainerX device) where there is none.
    """
    if isinstance(device_spec, Device):
        return device_spec
    if isinstance(device_spec, cuda.Device):
        return GpuDevice(device_spec)
    if isinstance(device_spec, str):
        number = device_spec.removeprefix("-")
        if not number.isdecimal():
            return _named_device(device_spec)
        device_spec = int(device_spec)
    if isinstance(device_spec, (int, numpy.integer)):
        return GpuDevice.from_device_id(int(device_spec)) if device_spec >= 0 else CpuDevice()
    raise TypeError(
        "Device specifier must be a backend.Device, cuda.Device, chainerx.Device, integer or a string. "
        f"Actual: {type(device_spec)}"
    )


def _named_device(name: str) -> Device:
    if not name.startswith("@"):
        raise RuntimeError(
            f"Tried to parse ChainerX device specifier '{name}', but ChainerX is not available. "
            "Note that device specifiers without '@' prefix are assumed to be ChainerX device specifiers."
        )
    module, colon, number = name[1:].partition(":")
    if module == "numpy" and not colon:
        return CpuDevice()
    if module == "cupy" and colon:
        return GpuDevice.from_device_id(int(number))
    if module == "intel64" and not colon:
        raise RuntimeError("iDeep is not available, and anygru has its own CPU kernels: use '@numpy'")
    raise ValueError(
        "Device specifiers starting with '@' must be followed by a module name and depending on the module, "
        f"module specific precise device specifiers. Actual: {name}"
    )


def using_device(device_spec: DeviceSpec) -> Any:
    """A context manager inside which a device is the current one."""
    return get_device(device_spec).create_context()


def get_device_from_array(*arrays: Any) -> Device:
    """The device of the first GPU array; the CPU without one."""
    for array in arrays:
        if isinstance(array, cuda.ndarray):
            return GpuDevice(array.device)
    return CpuDevice()


def to_chx(array: NdArray) -> Any:
    """ChainerX arrays do not exist here: RuntimeError."""
    raise RuntimeError("ChainerX is not available.")


def from_chx(array: NdArray) -> Any:
    """The array itself, since ChainerX arrays do not exist here."""
    return array


def get_array_types() -> tuple[type, ...]:
    """The classes of arrays."""
    return (numpy.ndarray, cuda.ndarray) if cuda.available else (numpy.ndarray,)


def get_cpu_array_types() -> tuple[type, ...]:
    """The classes of arrays on the CPU."""
    return (numpy.ndarray,)


def is_arrays_compatible(arrays: Any) -> bool:
    """Whether all arrays (None aside) are on the same kind of device."""
    return len({isinstance(array, numpy.ndarray) for array in arrays if array is not None}) <= 1
