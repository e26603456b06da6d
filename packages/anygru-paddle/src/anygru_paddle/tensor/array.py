"""Lists of tensors, which a dynamic graph runs as plain Python."""

from collections.abc import Sequence
from typing import Any

import torch

__all__ = ["array_length", "array_read", "array_write", "create_array"]


def create_array(dtype: Any = "float32", initialized_list: Sequence[Any] | None = None) -> list[Any]:
    """A list of the tensors given."""
    return [*(initialized_list or ())]


def array_write(x: torch.Tensor, i: torch.Tensor, array: list[Any] | None = None) -> list[Any]:
    """The list with x at index i; x replaces the element there or is appended."""
    array = [] if array is None else array
    place = int(i)
    if place < len(array):
        array[place] = x
    else:
        array.append(x)
    return array


def array_read(array: list[Any], i: torch.Tensor) -> Any:
    """The element at index i."""
    return array[int(i)]


def array_length(array: list[Any]) -> int:
    """The number of tensors, as Python's int (recorded, 2.6.2)."""
    return len(array)
