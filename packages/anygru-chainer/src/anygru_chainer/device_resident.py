"""Objects that move between devices as a whole: links and subclasses of `DeviceResident`."""

import warnings
from typing import Any

from . import backend
from .backends import cuda
from .types import DeviceSpec


class DeviceResident(backend.WithoutOtherDevices):
    """An object with a device; `to_device` moves its arrays and variables by a visitor."""

    _device: backend.Device = backend.CpuDevice()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for method in ("to_device", "to_chx", "from_chx"):
            if method in cls.__dict__:
                raise TypeError(f"Overriding method '{method}'.")
        for method in ("to_cpu", "to_gpu", "to_intel64"):
            if method in cls.__dict__:
                warnings.warn(f"Overriding method '{method}'.", DeprecationWarning, stacklevel=2)

    def device_resident_accept(self, visitor: Any) -> None:
        """Pass this object to a visitor; override it to pass arrays and variables as well."""
        visitor.visit_device_resident(self)

    device = property(lambda self: self._device, doc="The device of the object.")
    xp = property(lambda self: self.device.xp, doc="The module that makes arrays on its device: NumPy on the CPU.")

    def to_cpu(self) -> Any:
        """Move to the CPU. Deprecated: use `to_device("@numpy")`."""
        _warn_deprecated("to_cpu", "@numpy")
        return self._move(backend.CpuDevice(), self)

    def to_gpu(self, device: DeviceSpec = None) -> Any:
        """Move to a GPU, by default the current GPU. Deprecated: use `to_device("@cupy:N")`."""
        target = cuda.GpuDevice(cuda.device_or_current(device))
        _warn_deprecated("to_gpu", "@cupy:N")
        return self._move(target, self)

    to_chainerx, from_chainerx = backend.WithoutOtherDevices.to_chx, backend.WithoutOtherDevices.from_chx

    def to_device(self, device: DeviceSpec) -> Any:
        """Move all arrays and variables to a device; see `chainer.get_device`. Returns self."""
        return self._move(backend.get_device(device), None)

    def _move(self, device: backend.Device, caller: "DeviceResident | None") -> Any:
        self.device_resident_accept(_MoveVisitor(device, caller))
        return self


def _warn_deprecated(method: str, name: str) -> None:
    warnings.warn(f"{method} is deprecated. Please use to_device('{name}') instead.", DeprecationWarning, stacklevel=3)


class DeviceResidentsVisitor:
    """Visits device residents; see `DeviceResident.device_resident_accept`."""

    def visit_device_resident(self, device_resident: DeviceResident) -> None:
        """Called for each object."""
        raise NotImplementedError

    def visit_array(self, arr: Any) -> Any:
        """Called for each array; returns the array that replaces it."""
        raise NotImplementedError

    def visit_variable(self, param: Any) -> None:
        """Called for each variable."""
        raise NotImplementedError


class _MoveVisitor(DeviceResidentsVisitor):
    """Moves the arrays and variables of an object to a device.

    Links for versions before 7 override `to_cpu` and `to_gpu` to move further arrays, so overridden methods are called,
    except on the `caller`: its method is running already.
    """

    def __init__(self, device: backend.Device, caller: DeviceResident | None) -> None:
        self._device = device
        self._caller = caller

    def visit_device_resident(self, device_resident: DeviceResident) -> None:
        device_resident._device = self._device
        name = "to_cpu" if isinstance(self._device, backend.CpuDevice) else "to_gpu"
        if device_resident is self._caller or getattr(type(device_resident), name) is getattr(DeviceResident, name):
            return
        if isinstance(self._device, backend.GpuDevice):
            device_resident.to_gpu(self._device.device.id)
        else:
            device_resident.to_cpu()

    def visit_array(self, arr: Any) -> Any:
        return self._device.send(arr)

    def visit_variable(self, param: Any) -> None:
        param.to_device(self._device)
