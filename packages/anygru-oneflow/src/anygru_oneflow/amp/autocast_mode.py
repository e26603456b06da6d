"""Mixed precision: torch.autocast under OneFlow's names of types."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..framework.dtype import dtype, of_torch, plain

__all__ = [
    "autocast", "autocast_decorator", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "set_autocast_cpu_dtype",
    "set_autocast_gpu_dtype",
]  # fmt: skip


class autocast(torch.autocast):
    """Compute in a smaller type where that is safe, by default float16.

    Only on a GPU: on the CPU it has no effect in OneFlow 0.9.0 (recorded) for any type.

    Raises:
        RuntimeError: for another type of device.
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if device_type not in ("cuda", "cpu"):
            raise RuntimeError("User specified autocast device_type must be 'cuda' or 'cpu'")
        super().__init__(device_type, plain(dtype), enabled and device_type == "cuda", cache_enabled)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called within `autocast_instance`."""

    @functools.wraps(func)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with autocast_instance:
            return func(*arguments, **keywords)

    return call


def get_autocast_cpu_dtype() -> dtype:
    """The type of mixed precision on the CPU."""
    return of_torch(torch.get_autocast_dtype("cpu"))


def get_autocast_gpu_dtype() -> dtype:
    """The type of mixed precision on a GPU."""
    return of_torch(torch.get_autocast_dtype("cuda"))


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Set the type of mixed precision on the CPU."""
    torch.set_autocast_dtype("cpu", plain(dtype))


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Set the type of mixed precision on a GPU."""
    torch.set_autocast_dtype("cuda", plain(dtype))
