"""Data parallelism."""

from typing import Any

import torch

from anygru import parallel

from ...framework.dressing import dress_as_torch
from ..modules.module import Module


def DistributedDataParallel(
    module: Module, *, broadcast_buffers: bool = True, broadcast_parameters: bool = True, bucket_size: int = 10
) -> Module:
    """Give every process rank 0's parameters, and let each gradient become the mean over the processes in backward.

    Args:
        module: the model, which is returned itself.
        broadcast_buffers: take rank 0's buffers before each forward.
        broadcast_parameters: take rank 0's parameters now.
        bucket_size: accepted for OneFlow's sake; the gradients travel together at the end of backward.
    """
    vars(module)["_is_ddp_module"] = True
    place = parallel.start(timeout=parallel.launch_timeout(parallel.LONG_TIMEOUT))
    if place.size == 1:
        return module
    if broadcast_parameters:
        _from_first(list(module.parameters()))
    averaging = _Averaging(module)
    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(averaging)
    if broadcast_buffers:
        module.register_forward_pre_hook(lambda module, arguments: _from_first(list(module.buffers())))
    return module


class _Averaging:
    """Averages a module's gradients over the processes, once at the end of each backward."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.waiting = False

    def __call__(self, parameter: torch.Tensor) -> None:
        if not self.waiting:
            self.waiting = True
            # torch has no public hook for the end of backward; its own data parallelism uses this one.
            torch.autograd.Variable._execution_engine.queue_callback(self.average)

    def average(self) -> None:
        self.waiting = False
        for parameter in self.module.parameters():
            if parameter.requires_grad and parameter.grad is None:  # a parameter that was not used
                parameter.grad = torch.zeros_like(parameter)
        parallel.average_gradients(self.module.parameters())


def _from_first(tensors: list[Any]) -> None:
    for tensor in tensors:
        torch.distributed.broadcast(dress_as_torch(tensor.detach()), 0)
