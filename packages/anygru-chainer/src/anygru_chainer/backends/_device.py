"""CUDA devices by number."""

from typing import Any

import torch

available: bool = torch.cuda.is_available()


def check_cuda_available() -> None:
    """Raise RuntimeError unless torch finds a CUDA device."""
    if not available:
        raise RuntimeError(
            "CUDA environment is not correctly set up: torch finds no CUDA device "
            "(torch.cuda.is_available() is False). Stay on the CPU with to_device('@numpy')."
        )


class Device:
    """A CUDA device by number; as a context manager it is the current device inside."""

    def __init__(self, device: int | None = None) -> None:
        check_cuda_available()
        self.id = torch.cuda.current_device() if device is None else int(device)
        if not 0 <= self.id < torch.cuda.device_count():
            raise ValueError(f"there is no CUDA device {self.id}: torch sees {torch.cuda.device_count()}")
        self._contexts: list[Any] = []

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> "Device":
        context = torch.cuda.device(self.id)
        context.__enter__()
        self._contexts.append(context)
        return self

    def __exit__(self, *args: Any) -> None:
        self._contexts.pop().__exit__(*args)

    def use(self) -> None:
        """Make this the current device."""
        torch.cuda.set_device(self.id)

    def synchronize(self) -> None:
        """Wait until the device has done all its work."""
        torch.cuda.synchronize(self.id)
