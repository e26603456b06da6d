"""`paddle.device`: which device new tensors go to."""

from typing import Any

import torch

from ..base import core
from ..base.core import CPUPlace as CPUPlace
from ..base.core import CUDAPlace as CUDAPlace
from ..base.core import is_compiled_with_cinn as is_compiled_with_cinn
from ..base.core import is_compiled_with_cuda as is_compiled_with_cuda
from ..base.core import is_compiled_with_distribute as is_compiled_with_distribute
from ..base.core import is_compiled_with_ipu as is_compiled_with_ipu
from ..base.core import is_compiled_with_rocm as is_compiled_with_rocm
from ..base.core import is_compiled_with_xpu as is_compiled_with_xpu
from . import cuda as cuda


def set_device(device: str) -> core.Place:
    """Make 'cpu', 'gpu' or 'gpu:x' the device of new tensors, and return its place.

    Raises:
        ValueError: for an unknown device, or a GPU that torch does not see.
    """
    if not isinstance(device, (str, core.Place)):
        raise ValueError(f"set_device: device must be 'cpu', 'gpu' or 'gpu:x', got {device!r}")
    place = core.as_place(device)
    core.set_expected_place(place)
    return place


def get_device() -> str:
    """The device of new tensors: 'cpu' or 'gpu:x'."""
    place = core.expected_place()
    return "cpu" if place.is_cpu_place() else f"gpu:{place.get_device_id()}"


def get_all_device_type() -> list[str]:
    """The kinds of device that there are."""
    return ["cpu", "gpu"] if is_compiled_with_cuda() else ["cpu"]


def get_available_device() -> list[str]:
    """The devices that there are."""
    return ["cpu", *(f"gpu:{number}" for number in range(torch.cuda.device_count()))]


def is_compiled_with_custom_device(device_type: str) -> bool:
    """False: custom devices are not covered."""
    return False


def get_available_custom_device() -> list[str]:
    """None: custom devices are not covered."""
    return []


get_all_custom_device_type = get_available_custom_device


def get_cudnn_version() -> int | None:
    """cuDNN's version, None without it."""
    return torch.backends.cudnn.version() if is_compiled_with_cuda() else None


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has finished; nothing on a CPU."""
    if is_compiled_with_cuda():
        torch.cuda.synchronize()
