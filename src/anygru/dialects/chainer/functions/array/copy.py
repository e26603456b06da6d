"""Another device."""

from __future__ import annotations

from typing import Any

import torch

from ... import backend
from ...backends import cuda
from ...functions._checks import AnyFunction
from ...variable import Variable


class Copy(AnyFunction):
    def __init__(self, out_device: backend.Device) -> None:
        self.out_device = out_device

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        if isinstance(self.out_device, backend.GpuDevice):
            return x.to(f"cuda:{self.out_device.device.id}", copy=True)
        return x.to("cpu", copy=True)


def copy(x: Any, dst: Any) -> Variable:
    """A copy of the array on the device `dst`; the gradient comes back to the device of `x`."""
    device = backend.CpuDevice() if isinstance(dst, cuda.DummyDeviceType) else backend.get_device(dst)
    return Copy(device).apply((x,))[0]
