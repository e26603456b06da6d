"""`paddle.device.cuda`: the GPUs, their properties and memory, from torch."""

import torch

from ..base import core

__all__ = [
    "device_count", "empty_cache", "get_device_capability", "get_device_name", "get_device_properties",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "synchronize",
]  # fmt: skip

Device = core.Place | int | str | None


def device_count() -> int:
    """How many GPUs there are."""
    return torch.cuda.device_count()


def empty_cache() -> None:
    """Give memory that is not used back to the GPU."""
    torch.cuda.empty_cache()


def _number(device: Device, name: str) -> int:
    """The number of a GPU.

    Raises:
        ValueError: where there is none, as in Paddle's build for CPUs.
    """
    if not core.is_compiled_with_cuda():
        raise ValueError(f"The API paddle.device.cuda.{name} is not supported in CPU-only PaddlePaddle.")
    if device is None:
        return torch.cuda.current_device()
    return device if isinstance(device, int) else core.as_place(device).get_device_id()


def synchronize(device: Device = None) -> None:
    """Wait until the GPU has finished."""
    torch.cuda.synchronize(_number(device, "synchronize"))


def get_device_properties(device: Device = None) -> object:
    """The GPU's name, memory and capability."""
    return torch.cuda.get_device_properties(_number(device, "get_device_properties"))


def get_device_name(device: Device = None) -> str:
    """The GPU's name."""
    return torch.cuda.get_device_name(_number(device, "get_device_properties"))


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """The GPU's compute capability."""
    return torch.cuda.get_device_capability(_number(device, "get_device_properties"))


def memory_allocated(device: Device = None) -> int:
    """Bytes that tensors take."""
    return torch.cuda.memory_allocated(_number(device, "memory_allocated"))


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes that tensors have taken."""
    return torch.cuda.max_memory_allocated(_number(device, "max_memory_allocated"))


def memory_reserved(device: Device = None) -> int:
    """Bytes that torch holds."""
    return torch.cuda.memory_reserved(_number(device, "memory_reserved"))


def max_memory_reserved(device: Device = None) -> int:
    """The most bytes that torch has held."""
    return torch.cuda.max_memory_reserved(_number(device, "max_memory_reserved"))
