"""Indexing by brackets, where OneFlow's rules differ from torch's."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from .dressing import torch_dtype
from .dtype import stored
from .tensor import Tensor


def _index(index: Any) -> Any:
    """The index as torch takes it.

    True is a new dimension, as None is; torch counts it among the indices that are tensors (recorded in 0.9.0).
    """
    if isinstance(index, tuple):
        return tuple([None if part is True else part for part in index])
    return None if index is True else index


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
        return torch.Tensor.__getitem__(self, _index(index))


def _set(self: Tensor, index: Any, value: Any) -> None:
    """Overwrite a part. Values are cast to the tensor's type, whatever the index."""
    known = torch_dtype(self)
    if isinstance(value, torch.Tensor):
        if torch_dtype(value) is not known:
            value = value.to(known)
    else:
        value = stored(value, known)
    with _oneflow_errors(self, index):
        torch.Tensor.__setitem__(self, _index(index), value)


def _size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of a dimension. Raises RuntimeError for one that is not there, as OneFlow does."""
    try:
        return torch.Tensor.size(self) if dim is None else torch.Tensor.size(self, dim)
    except IndexError as error:
        raise RuntimeError(*error.args) from None


Tensor.__getitem__ = _get  # type: ignore[assignment, method-assign]
Tensor.__setitem__ = _set  # type: ignore[assignment, method-assign]
Tensor.size = _size  # type: ignore[assignment, method-assign]
