"""Places and the type enumeration that Paddle keeps in its C++ core."""

from typing import Any

import torch

from ..framework import dtype as types
from .errors import EnforceNotMet as EnforceNotMet

__all__ = [
    "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "is_compiled_with_cinn", "is_compiled_with_cuda",
    "is_compiled_with_distribute", "is_compiled_with_ipu", "is_compiled_with_rocm", "is_compiled_with_xpu",
]  # fmt: skip


class Place:
    """Where a tensor lives; a thin name for a torch device."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)

    def is_cpu_place(self) -> bool:
        """True on the CPU."""
        return self.device.type == "cpu"

    def is_gpu_place(self) -> bool:
        """True on a CUDA device."""
        return self.device.type == "cuda"

    def is_cuda_pinned_place(self) -> bool:
        """torch has no separate place for pinned memory."""
        return False

    def is_xpu_place(self) -> bool:
        """Never: XPUs are not covered."""
        return False

    def get_device_id(self) -> int:
        """The number of the device."""
        return self.device.index or 0

    gpu_device_id = get_device_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return "Place(cpu)" if self.is_cpu_place() else f"Place(gpu:{self.get_device_id()})"


class CPUPlace(Place):
    """The CPU."""

    def __init__(self) -> None:
        super().__init__("cpu")


class CUDAPlace(Place):
    """The CUDA device number `device_id`.

    Raises:
        ValueError: if torch sees no such device.
    """

    def __init__(self, device_id: int = 0) -> None:
        if not isinstance(device_id, int) or not 0 <= device_id < torch.cuda.device_count():
            raise ValueError(f"CUDAPlace({device_id!r}): torch sees {torch.cuda.device_count()} CUDA devices")
        super().__init__(f"cuda:{device_id}")


class CUDAPinnedPlace(Place):
    """Page-locked host memory; needs CUDA."""

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise ValueError("CUDAPinnedPlace: torch sees no CUDA device; paddle.CPUPlace() is the way")
        super().__init__("cpu")

    def is_cuda_pinned_place(self) -> bool:
        """True."""
        return True

    def __repr__(self) -> str:
        return "Place(gpu_pinned)"


class eager:
    """Holds `Tensor`, by which programs ask `isinstance`; `tensor.tensor` puts it here."""

    Tensor: type[torch.Tensor]


class VarDesc:
    """Holds `VarType`, with the members by which old scripts name element types."""

    VarType = type("VarType", (), {each.name: each for each in types.ALL})


def is_compiled_with_cuda() -> bool:
    """True if torch can use a CUDA device here."""
    return torch.cuda.is_available()


def is_compiled_with_rocm() -> bool:
    """True if this torch was built for ROCm."""
    return torch.version.hip is not None


def is_compiled_with_xpu() -> bool:
    """False: XPUs are not covered."""
    return False


is_compiled_with_npu = is_compiled_with_ipu = is_compiled_with_cinn = is_compiled_with_mkldnn = is_compiled_with_xpu


def is_compiled_with_distribute() -> bool:
    """True if torch.distributed can be used."""
    return torch.distributed.is_available()


def get_cuda_device_count() -> int:
    """How many CUDA devices torch sees."""
    return torch.cuda.device_count()


_expected: Place = CPUPlace() if not torch.cuda.is_available() else CUDAPlace(0)
gpu: torch.device | None = None if _expected.is_cpu_place() else _expected.device
"""The device of new tensors unless that is the CPU."""


def expected_place() -> Place:
    """The place of new tensors."""
    return _expected


def set_expected_place(place: Place) -> Place:
    """Make `place` the place of new tensors and return the previous place."""
    global _expected, gpu
    before, _expected = _expected, place
    gpu = None if place.is_cpu_place() else place.device
    return before


def as_place(value: Any, what: str = "device") -> Place:
    """The place that 'cpu', 'gpu', 'gpu:1' or a Place means.

    Raises:
        ValueError: for any other value.
    """
    if isinstance(value, Place):
        return value
    if isinstance(value, str):
        kind, _, number = value.lower().partition(":")
        if kind == "cpu" and not number:
            return CPUPlace()
        if kind in ("gpu", "cuda") and (not number or number.isdigit()):
            return CUDAPlace(int(number or 0))
    raise ValueError(
        f"The {what} must be 'cpu', 'gpu' or 'gpu:x' (or a paddle.CPUPlace / CUDAPlace), but received {value!r}"
    )
