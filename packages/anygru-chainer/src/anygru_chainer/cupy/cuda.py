"""`cupy.cuda`: devices, streams and events, as in `chainer.backends.cuda`."""

import torch

from ..backends import cuda as _chainers
from ..backends.cuda import Device, Event, Stream

__all__ = ["Device", "Event", "Stream", "is_available", "runtime"]


def is_available() -> bool:
    """Whether there is a CUDA device."""
    return _chainers.available


class runtime:
    """The CUDA runtime."""

    CUDARuntimeError = getattr(torch, "AcceleratorError", RuntimeError)  # an older torch raises RuntimeError

    @staticmethod
    def getDeviceCount() -> int:
        """The number of devices (RuntimeError if there is none)."""
        _chainers.check_cuda_available()
        return torch.cuda.device_count()
