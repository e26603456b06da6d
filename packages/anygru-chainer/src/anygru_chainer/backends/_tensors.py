"""Between the dialect's arrays and torch tensors: views of the same memory wherever torch can make one."""

from typing import Any

import numpy
import torch
from numpy.typing import DTypeLike

from ..types import NdArray
from . import cuda

Tensor = torch.Tensor
ARRAYS = (numpy.ndarray, cuda.ndarray)
"""The classes of arrays."""


def as_tensor(array: NdArray) -> Tensor:
    """A tensor of an array's values: the same memory, unless the array is read-only or has negative strides."""
    if isinstance(array, cuda.ndarray):
        return array.tensor
    if array.flags.writeable:
        try:
            return torch.from_numpy(array)
        except (TypeError, ValueError):  # another byte order, negative strides, or a dtype that torch does not have
            pass
    array = array.copy()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return torch.from_numpy(array)


def as_array(tensor: Tensor) -> Any:
    """An array on a tensor's memory: NumPy on the CPU, `backends.cuda.ndarray` on a GPU."""
    if tensor.is_cuda:
        return cuda.ndarray(tensor)
    return tensor.numpy()


def torch_dtype(dtype: DTypeLike | None) -> torch.dtype:
    """The torch dtype of a NumPy dtype (TypeError if torch does not support it)."""
    return torch.from_numpy(numpy.empty(0, dtype)).dtype
