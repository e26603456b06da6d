"""Reading and writing parts of an array: NumPy's indexing with MXNet's results.

Integers in every axis give an array of shape (1,); a contiguous part shares memory, any other is a copy; a boolean is the
number 0 or 1.
"""

import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base import MXNetError, integer_types, numeric_types
from ..operators.shape import backwards

_ARRAYS = (Tensor, np.ndarray, list, tuple, range)


def _unwrapped(index: Any) -> Any:
    """The tensor behind an array used as an index."""
    return getattr(index, "_t", index)


def _expand(key: Any, shape: tuple[int, ...]) -> list:
    """The key with an index for each axis (and None for new axes). Whole slices replace `...` and missing axes.

    Raises:
        IndexError: for more indices than axes, or two ellipses.
        ValueError: for an index of a type that MXNet does not take.
    """
    parts = [_unwrapped(part) for part in (key if isinstance(key, tuple) else (key,))]
    for part in parts:
        if not (part is None or part is Ellipsis or isinstance(part, (slice, *_ARRAYS, *integer_types))):
            raise ValueError(f"NDArray does not support slicing with key {part} of type {type(part)}.")
    where = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(where) > 1:
        raise IndexError("Cannot use more than one ellipsis (`...`) for indexing")
    named = sum(part is not None and part is not Ellipsis for part in parts)
    if named > len(shape):
        raise IndexError(f"too many indices ({named}) for array with {len(shape)} dimensions")
    whole = [slice(None)] * (len(shape) - named)
    at = where[0] if where else len(parts)
    return parts[:at] + whole + parts[at + 1 :]


def _places(index: Any, device: torch.device) -> Any:
    """Convert an index that is an array or a list to a tensor."""
    if index is None or isinstance(index, (bool, slice, *integer_types)):
        return index
    if not isinstance(index, Tensor):
        index = torch.as_tensor(np.asarray([_scalar(i) for i in index] if isinstance(index, (list, tuple)) else index))
    return index.to(device, torch.int64)


def _checked(index: Any, size: int, axis: int, with_arrays: bool) -> Any:
    """Convert an index of one axis for torch.

    Raises:
        IndexError: for places outside the axis.
        MXNetError: for an empty slice together with arrays: MXNet 1.9.1 converts slices to arrays, which cannot be empty.
        ValueError: for a slice of step 0.
    """
    if isinstance(index, slice):
        if index.step == 0:
            raise ValueError("slice step cannot be zero")
        if with_arrays and not range(*index.indices(size)):
            raise MXNetError(f"slice {index.start}:{index.stop} with array indices selects nothing of axis {axis}")
    elif isinstance(index, Tensor):
        if index.numel() and not bool(((index >= -size) & (index < size)).all()):
            raise IndexError(f"an index is out of bounds for axis {axis} with size {size}")
    elif index is not None:
        index = int(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return index


def _scalar(item: Any) -> Any:
    item = _unwrapped(item)
    return item.numpy() if isinstance(item, Tensor) else item


def _resolve(tensor: Tensor, key: Any) -> list:
    """The key as torch indices, one an axis and None for new ones; faults are found in MXNet 1.9.1's order (recorded)."""
    parts = [_places(part, tensor.device) for part in _expand(key, tuple(tensor.shape))]
    arrays = [part for part in parts if isinstance(part, Tensor)]
    axes = list(itertools.accumulate((part is not None for part in parts), initial=0))
    sizes = [tensor.shape[axis] if part is not None else 0 for part, axis in zip(parts, axes, strict=False)]
    triples = list(zip(parts, sizes, axes, strict=False))
    if not arrays:
        return [_checked(*triple, False) for triple in triples]
    for triple in triples:
        if isinstance(triple[0], slice):
            _checked(*triple, True)
    try:
        torch.broadcast_shapes(*(part.shape for part in arrays))
    except RuntimeError:
        shapes = ", ".join(str(tuple(part.shape)) for part in arrays)
        raise ValueError(f"the arrays of an index must be broadcastable to one shape, got {shapes}") from None
    parts = [_checked(*triple, True) for triple in triples]
    # Together with arrays a number becomes an array: torch would apply it first, and change the position of the arrays' axes.
    return [torch.tensor([part], device=tensor.device) if isinstance(part, int) else part for part in parts]


def _flip(tensor: Tensor, parts: list) -> Tensor:
    """Apply slices with negative steps, which torch's indexing lacks, and replace them by whole slices."""
    axis = 0
    for place, part in enumerate(parts):
        if isinstance(part, slice) and part.step is not None and part.step < 0:
            chosen = range(*part.indices(tensor.shape[axis]))
            if len(chosen) == 1:  # for one row the direction does not matter; the result is a view
                parts[place] = slice(chosen[0], chosen[0] + 1)
                axis += 1
                continue
            tensor = tensor.index_select(axis, backwards(part, tensor.shape[axis], tensor.device))
            parts[place] = slice(None)
        axis += part is not None
    return tensor


def get(tensor: Tensor, key: Any) -> Tensor:
    """`array[key]`, for a tensor.

    Raises:
        IndexError: for an index outside the array or too many of them.
        MXNetError: for a slice that ends before it begins.
        ValueError: for an index of a type that MXNet does not take.
    """
    if type(key) is int:
        size = tensor.shape[0]
        if not -size <= key < size:
            raise IndexError(f"index {key} is out of bounds for axis 0 with size {size}")
        row = tensor[key]
        # `a[i]` of one axis has shape (1,): MXNet 1.9.1 has no arrays without axes here (recorded).
        return row.reshape(1) if row.dim() == 0 else row
    if type(key) is slice and key.step in (None, 1):
        start, stop, _ = key.indices(tensor.shape[0])
        if start > stop:
            raise MXNetError(
                f"slice {key.start}:{key.stop} ends before it begins, in an axis of size {tensor.shape[0]}"
            )
        return tensor[key]
    chosen = part(tensor, key)
    return chosen.reshape(1) if chosen.dim() == 0 else chosen


def part(tensor: Tensor, key: Any) -> Tensor:
    """The selected elements, without the axes that are indexed by numbers.

    Raises:
        IndexError, ValueError: as `get`.
    """
    tensor, parts, new_axes = _without_new_axes(tensor, _resolve(tensor, key))
    chosen = _flip(tensor, parts)[tuple(parts)]
    for place in new_axes:
        chosen = chosen.unsqueeze(place)
    return chosen.contiguous()


def _without_new_axes(tensor: Tensor, parts: list) -> tuple[Tensor, list, list[int]]:
    """The tensor and an index without None, and the places in the result for the axes of size 1 that None adds.

    MXNet 1.9.1 adds these axes when the arrays have been applied. It counts the arrays' own axes only where these come first
    since the arrays are not side by side; otherwise it does not count them, unlike NumPy (recorded).
    """
    advanced = [place for place, part in enumerate(parts) if isinstance(part, Tensor)]
    added = [place for place, part in enumerate(parts) if part is None]
    if not advanced or not added:
        return tensor, parts, []
    first, order = 0, [place for place, part in enumerate(parts) if part is not None]
    axis_of = {place: axis for axis, place in enumerate(order)}
    if advanced[-1] - advanced[0] >= len(advanced):
        first = len(torch.broadcast_shapes(*(parts[place].shape for place in advanced)))
        order.sort(key=lambda place: place not in advanced)
    places = [first + sum(place not in advanced for place in range(at)) for at in added]
    return tensor.permute([axis_of[place] for place in order]), [parts[place] for place in order], places


def _values(tensor: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.to(tensor.device, tensor.dtype)
    try:
        array = np.asarray(value if isinstance(value, np.ndarray) else [_scalar(v) for v in value])
        return torch.as_tensor(array.astype(_numpy_dtype(tensor))).to(tensor.device)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"NDArray does not support assignment with non-array-like object {value} of type {type(value)}"
        ) from error


def _numpy_dtype(tensor: Tensor) -> np.dtype:
    return torch.empty(0, dtype=tensor.dtype).numpy().dtype


def _fit(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Values without superfluous leading axes, broadcast to a shape.

    Raises:
        ValueError: when they do not broadcast to it.
    """
    given = tuple(values.shape)
    while values.dim() > len(shape) and values.shape[0] == 1:
        values = values.squeeze(0)
    try:
        return values.broadcast_to(shape)
    except RuntimeError:
        raise ValueError(
            "operands could not be broadcast together with remapped shapes[original->remapped]: "
            f"{given} and requested shape {shape}"
        ) from None


def _refuse_backward_ends(tensor: Tensor, parts: list) -> None:
    """Raise MXNet 1.9.1's class of error (recorded) for an assignment to a slice that ends before it begins."""
    axis = 0
    for part in parts:
        if isinstance(part, slice):
            start, stop, step = part.indices(tensor.shape[axis])
            ends = f"slice {part.start}:{part.stop} ends before it begins, in an axis of size {tensor.shape[axis]}"
            assert (stop - start) * step >= 0, ends
        axis += part is not None


def put(tensor: Tensor, key: Any, value: Any) -> None:
    """`array[key] = value`, for a tensor.

    Raises:
        AssertionError: for a slice that ends before it begins.
        IndexError: for an index outside the array.
        TypeError: for a value that is not an array or number.
        ValueError: for a value of a wrong shape.
    """
    if tensor.numel() == 0:
        return
    tensor, parts, new_axes = _without_new_axes(tensor, _resolve(tensor, key))
    _refuse_backward_ends(tensor, parts)
    number = isinstance(value, numeric_types)
    values = tensor.new_tensor(value) if number else _values(tensor, value)
    if any(isinstance(p, slice) and p.step is not None and p.step < 0 for p in parts):
        places = torch.arange(tensor.numel(), device=tensor.device).reshape(tensor.shape)
        places = _flip(places, parts)[tuple(parts)]
        # torch cannot assign to a flipped view, so the positions are reversed.
        tensor.put_(places, _fit(values, tuple(places.shape)).contiguous())
    elif number:
        tensor[tuple(parts)] = values
    else:
        target = tuple(tensor.detach()[tuple(parts)].shape)
        if values.dim() > len(target):
            values = values.squeeze([place for place in new_axes if place < values.dim()])
        tensor[tuple(parts)] = _fit(values, target)
