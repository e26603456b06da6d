"""GPUs: the names of `chainer.backends.cuda` over torch's CUDA devices.

`available` is True if torch finds a CUDA device. If there is no device, the functions raise RuntimeError, as Chainer
without CuPy.
"""

import warnings
from typing import Any

import numpy
import torch
from numpy.typing import DTypeLike
from torch.cuda import Event as Event
from torch.cuda import Stream as Stream

from ..configuration import config
from ..types import DeviceSpec, NdArray
from . import _cpu, _cupy
from . import _cpu as _interface
from ._gpu_array import Device as Device
from ._gpu_array import available as available
from ._gpu_array import check_cuda_available as check_cuda_available
from ._gpu_array import ndarray as ndarray

__all__ = [
    "Device", "DummyDevice", "DummyDeviceType", "Event", "GpuDevice", "Stream", "available", "check_cuda_available",
    "clear_memo", "copy", "cudnn_enabled", "cupy", "elementwise", "fuse", "get_array_module", "get_device",
    "get_device_from_array", "get_device_from_id", "get_max_workspace_size", "memoize", "ndarray", "raw", "reduce",
    "set_max_workspace_size", "should_use_cudnn",
    "should_use_cudnn_tensor_core", "to_cpu", "to_gpu",
]  # fmt: skip

cudnn_enabled: bool = available and torch.backends.cudnn.is_available()
cupy: Any = _cupy if available else object()
get_array_module = _cupy.get_array_module
_INTEGERS = (int, numpy.integer)


class DummyDeviceType:
    """The CPU, where a CUDA device is expected: its id is -1, and its methods do nothing."""

    id = -1

    def __int__(self) -> int:
        return -1

    def __enter__(self) -> "DummyDeviceType":
        return self

    def __exit__(self, *args: Any) -> None:
        pass

    def use(self) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DummyDeviceType)

    __hash__ = None  # type: ignore[assignment]


DummyDevice = DummyDeviceType()


class GpuDevice(_interface.Device):
    """The device "@cupy:N"."""

    xp = cupy
    supported_array_types = (ndarray,)

    def __init__(self, device: Device) -> None:
        check_cuda_available()
        self.device = device
        self.name = f"@cupy:{device.id}"

    @staticmethod
    def from_device_id(device_id: int) -> "GpuDevice":
        """The device of a number (ValueError if there is none, RuntimeError without CUDA)."""
        check_cuda_available()
        if not (isinstance(device_id, _INTEGERS) and device_id >= 0):
            raise ValueError(f"Invalid CUDA device ID: {device_id}")
        return GpuDevice(Device(int(device_id)))

    @staticmethod
    def from_array(array: NdArray) -> "GpuDevice | None":
        """The device of a GPU array; None for another object."""
        return GpuDevice(array.device) if isinstance(array, ndarray) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GpuDevice) and other.device == self.device

    __hash__ = _interface.Device.__hash__

    def __repr__(self) -> str:
        return f"<GpuDevice (cupy):{self.device.id}>"

    def create_context(self) -> Any:
        return Device(self.device.id)

    def send_array(self, array: NdArray) -> Any:
        return _array_to_gpu(array, self.device)

    def use(self) -> None:
        self.device.use()

    def is_array_supported(self, array: NdArray) -> bool:
        return isinstance(array, ndarray) and array.device == self.device


def get_device_from_id(device_id: int | None) -> Any:
    """The CUDA device of a number; the dummy device for None and negative numbers."""
    return DummyDevice if device_id is None or device_id < 0 else Device(device_id)


def get_device_from_array(*arrays: Any) -> Any:
    """The CUDA device of the first GPU array; the dummy device if there is none."""
    for array in arrays:
        if isinstance(array, ndarray):
            return array.device
    return DummyDevice


def get_device(*args: Any) -> Any:
    """The CUDA device named by a number, a device or an array. Deprecated."""
    warnings.warn(
        "get_device is deprecated. Please use get_device_from_id or get_device_from_array instead.", DeprecationWarning
    )
    for arg in args:
        if isinstance(arg, _INTEGERS) and not isinstance(arg, bool):
            return Device(int(arg))
        if isinstance(arg, Device):
            return arg
        if isinstance(arg, ndarray):
            return arg.device
    return DummyDevice


def device_or_current(device: DeviceSpec) -> Device:
    """A device from None (the current one), a device or a number (ValueError for a negative one)."""
    check_cuda_available()
    if device is None or isinstance(device, DummyDeviceType):
        return Device()
    if isinstance(device, Device):
        return device
    if not (isinstance(device, _INTEGERS) and device >= 0):
        raise ValueError(f"Invalid CUDA device specifier: {device}")
    return Device(int(device))


def _array_to_gpu(array: NdArray, device: Device) -> Any:
    if array is None:
        return None
    if isinstance(array, (numpy.number, numpy.bool_)):
        array = numpy.asarray(array)
    if isinstance(array, ndarray):
        return array if array.device == device else ndarray(array.tensor.to(f"cuda:{device.id}"))
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"The array sent to gpu must be an array or a NumPy scalar.\nActual type: {type(array)}.")
    return ndarray(torch.from_numpy(numpy.array(array)).to(f"cuda:{device.id}"))


def to_gpu(array: NdArray, device: DeviceSpec = None, stream: Any = None) -> Any:
    """Copy an array (or each of a list or tuple) to a GPU; RuntimeError where there is none."""
    target = device_or_current(device)
    return _interface.convert_arrays(array, lambda one: _array_to_gpu(one, target))


def to_cpu(array: NdArray, stream: Any = None) -> Any:
    """The NumPy form of an array (or of each of a list or tuple)."""
    return _cpu.to_cpu(array)


def copy(array: NdArray, out: Any = None, out_device: Any = None, stream: Any = None) -> Any:
    """A copy of a GPU array, on another device if one is given."""
    check_cuda_available()
    copied = array.copy() if out_device is None else to_gpu(array.copy(), out_device)
    if out is None:
        return copied
    out.tensor.copy_(copied.tensor)
    return out


def _no_kernels(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        check_cuda_available()
        raise NotImplementedError(
            f"chainer.backends.cuda.{name} compiles CUDA source for CuPy arrays, which anygru does not have; "
            "write the operation with torch functions in a FunctionNode on `array.tensor`, or as a Triton kernel"
        )

    refuse.__name__ = name
    return refuse


elementwise = _no_kernels("elementwise")
reduce = _no_kernels("reduce")
raw = _no_kernels("raw")


def memoize(for_each_device: bool = False) -> Any:
    """A decorator that returns the function itself: there are no kernels to remember."""
    return lambda function: function


def clear_memo() -> None:
    """Forget memoized results (there are none)."""


def fuse(*args: Any, **kwargs: Any) -> Any:
    """A decorator that returns the function itself (fusion is an optimisation of CuPy)."""
    return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else lambda function: function


def should_use_cudnn(level: str, lowest_version: int = 0) -> bool:
    """Whether `chainer.config.use_cudnn` and the machine allow cuDNN at this level (">=auto" or "==always")."""
    if level not in (">=auto", "==always"):
        raise ValueError(f'invalid cuDNN use level: "{level}" (must be either of ">=auto" or "==always")')
    allowed = ("always", "auto") if level == ">=auto" else ("always",)
    return cudnn_enabled and config.use_cudnn in allowed


def should_use_cudnn_tensor_core(dtype: DTypeLike | None) -> bool:
    """Whether `chainer.config.use_cudnn_tensor_core` and the dtype allow tensor cores."""
    setting = config.use_cudnn_tensor_core
    if setting not in ("always", "auto", "never"):
        raise ValueError(f'invalid use_cudnn_tensor_core configuration: "{setting}"')
    return cudnn_enabled and (setting == "always" or (setting == "auto" and dtype == numpy.float16))


_workspace = [8 * 1024 * 1024]


def get_max_workspace_size() -> int:
    """The number that `set_max_workspace_size` was given; 8 MiB at first. torch chooses cuDNN's workspaces itself."""
    return _workspace[0]


def set_max_workspace_size(size: int) -> None:
    """Keep the number."""
    _workspace[0] = size
