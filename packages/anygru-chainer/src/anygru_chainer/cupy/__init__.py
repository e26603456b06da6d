"""`import cupy`: the functions of GPU arrays that scripts call while training, over torch's CUDA devices.

It can be imported without a GPU, as CuPy can; operations that need a device then raise RuntimeError. Chainer's own
`chainer.backends.cuda.cupy` is the same module where there is a device.
"""

from typing import Any as _Any

import numpy as _numpy
import torch as _torch

from anygru.extend import cover as _cover

from ..backends import cuda as _chainers
from ..backends._cupy import *
from ..backends._cupy import __all__ as _functions
from . import cuda as cuda
from .cuda import is_available as is_available

__all__ = [
    "ElementwiseKernel", "RawKernel", "RawModule", "ReductionKernel", "bool_", "cuda", "fuse", "get_default_memory_pool",
    "is_available",
]  # fmt: skip
__all__ += _functions

bool_ = _numpy.bool_
fuse = _chainers.fuse


class _Kernel:
    """CUDA source, which is kept: scripts make kernels when they are imported, on machines without a GPU as well."""

    def __init__(self, *source: _Any, **options: _Any) -> None:
        self.source = source

    def __call__(self, *arguments: _Any, **options: _Any) -> _Any:
        """A kernel does not run (RuntimeError without a device, NotImplementedError with one)."""
        return _chainers.raw()

    get_function = __call__


ElementwiseKernel = RawKernel = RawModule = ReductionKernel = _Kernel


class _MemoryPool:
    """torch's memory of the present device."""

    def free_all_blocks(self) -> None:
        """Give unused memory back to the device."""
        _torch.cuda.empty_cache()

    def used_bytes(self) -> int:
        """The memory that arrays take."""
        return _torch.cuda.memory_allocated()

    def total_bytes(self) -> int:
        """The reserved memory."""
        return _torch.cuda.memory_reserved()


def get_default_memory_pool() -> _MemoryPool:
    """The memory that arrays are taken from."""
    return _MemoryPool()


_cover(__name__)
