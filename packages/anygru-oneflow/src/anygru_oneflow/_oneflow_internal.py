"""The part of OneFlow's C++ module that programs call."""

from typing import Any

import torch

from anygru import parallel

from .framework.dtype import Size, device, dtype
from .framework.generator import Generator
from .framework.placement import placement
from .framework.tensor import Tensor
from .sbp import sbp

__all__ = ["Generator", "Size", "Tensor", "cpu_broadcast", "device", "dtype", "eager", "placement", "sbp"]


def cpu_broadcast(data: Any, src: int) -> Any:
    """The bytes or the array of process `src`, on every process."""
    if parallel.start().size == 1:
        return data
    sent = [data]
    torch.distributed.broadcast_object_list(sent, src)
    return sent[0]


class eager:
    """Waiting for work in progress; on the CPU it is always done."""

    @staticmethod
    def Sync() -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
