"""Indexing by brackets, where OneFlow's rules differ from torch's."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor, Replicate

from ..processes import global_tensor
from .dressing import dress, torch_dtype
from .dtype import stored
from .tensor import Tensor


def _index(index: Any) -> Any:
    """The index as torch takes it.

    True is a new dimension, as None is; torch counts it among the indices that are tensors (recorded in 0.9.0).
    """
    if isinstance(index, tuple):
        return tuple([None if part is True else part for part in index])
    return None if index is True else index


def _of_nothing(self: Tensor, index: Any) -> Any:
    """The result of an index of a tensor without elements, if the result has no elements; None otherwise.

    OneFlow 0.9.0 does not look at places in a dimension of size 0 if the result has no elements (recorded); torch refuses them.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    taken = [0 if part is None or part is True else part.dim() if _is_mask(part) else 1 for part in parts]
    sizes: list[int] = list(self.shape)
    left, dim = len(sizes) - sum(n for part, n in zip(parts, taken, strict=True) if part is not ...), 0
    for number, (part, dims) in enumerate(zip(parts, taken, strict=True)):
        if isinstance(part, (list, np.ndarray, torch.Tensor)) and dims == 1 and sizes[dim] == 0:
            parts[number], sizes[dim] = torch.zeros(np.shape(part), dtype=torch.int64), 1
        dim += left if part is ... else dims
    shape = torch.empty(sizes)[_index(tuple(parts))].shape
    return None if math.prod(shape) else dress(self.flatten()[:0].reshape(shape))


def _is_mask(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and torch_dtype(part) is torch.bool


@contextlib.contextmanager
def _oneflow_errors(self: Tensor, index: Any) -> Iterator[None]:
    """Raise OneFlow's classes of exceptions for a wrong index (recorded in 0.9.0)."""
    try:
        yield
    except IndexError as error:
        if "broadcast" in str(error):
            raise RuntimeError(*error.args) from None
        raise
    except ValueError as error:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, float) for part in parts):
            raise IndexError(f"an index must be a whole number, a slice or the like, got {index}") from None
        if sum(part is not None and part is not ... and part is not True for part in parts) > self.dim():
            raise IndexError(f"too many indices for a tensor of {self.dim()} dimensions: {index}") from None
        raise RuntimeError(*error.args) from None


def _get(self: Tensor, index: Any) -> Any:
    if type(index) is int:
        return torch.Tensor.__getitem__(self, index)
    with _oneflow_errors(self, index):
        try:
            return torch.Tensor.__getitem__(self, _index(index))
        except IndexError:
            nothing = None if self.numel() or self.is_global else _of_nothing(self, index)
            if nothing is None:
                raise
            return nothing


def _set(self: Tensor, index: Any, value: Any) -> None:
    """Overwrite a part. Values are cast to the tensor's type for any index."""
    if isinstance(index, float):  # to read there is an IndexError (recorded in 0.9.0)
        raise TypeError(f"an index must be a whole number, a slice or the like, got {index}")
    known = torch_dtype(self)
    if isinstance(value, torch.Tensor):
        if torch_dtype(value) is not known:
            value = value.to(known)
    else:
        value = stored(value, known)
    with _oneflow_errors(self, index):
        if isinstance(self, DTensor):
            with torch._C.DisableTorchFunctionSubclass():
                _set_on_all(self, _index(index), value)
            return
        try:
            torch.Tensor.__setitem__(self, _index(index), value)
        except IndexError as error:
            if self.numel() or "size 0" not in str(error):
                raise


def _set_on_all(self: DTensor, index: Any, value: Any) -> None:
    """Overwrite a part of a global tensor, which keeps its layout: every process does so with the whole tensor.

    Torch has no rule for a part of a split, and changes a copy of it.
    """
    mesh, replicas = self.device_mesh, [Replicate()] * self.device_mesh.ndim

    def whole(part: Any) -> Any:
        return global_tensor.piece(part, replicas) if isinstance(part, DTensor) else part

    values = whole(self).clone()
    if mesh.get_coordinate() is not None:  # a process outside of the mesh holds nothing
        values[tuple(map(whole, index)) if isinstance(index, tuple) else whole(index)] = whole(value)
    changed = global_tensor.assembled(values, mesh, replicas, tuple(self.shape))
    torch.Tensor.copy_(self, global_tensor.redistribute(changed, self.placements))  # OneFlow's own has no gradient


def _size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of a dimension. Raises RuntimeError for a dimension that does not exist, as OneFlow does."""
    try:
        return torch.Tensor.size(self) if dim is None else torch.Tensor.size(self, dim)
    except IndexError as error:
        raise RuntimeError(*error.args) from None


Tensor.__getitem__ = _get  # type: ignore[assignment, method-assign]
Tensor.__setitem__ = _set  # type: ignore[assignment, method-assign]
Tensor.size = _size  # type: ignore[assignment, method-assign]
