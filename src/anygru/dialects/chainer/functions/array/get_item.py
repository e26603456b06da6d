"""Indexing."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ..._tensors import as_tensor
from ...backends import cuda
from ...functions._checks import AnyFunction
from ...variable import Variable


class GetItem(AnyFunction):
    def __init__(self, slices: Any) -> None:
        if isinstance(slices, list):
            slices = (slices,) if all(isinstance(s, int) for s in slices) else tuple(slices)
        elif not isinstance(slices, tuple):
            slices = (slices,)
        for key in slices:
            if isinstance(key, Variable):
                raise IndexError("a Variable is no index; use its array")
        if sum(key is Ellipsis for key in slices) > 1:
            raise IndexError("an index can only have a single ellipsis ('...')")
        self.slices = slices

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return take(x, self.slices)


def take(x: torch.Tensor, slices: tuple[Any, ...]) -> torch.Tensor:
    """`x[slices]` with everything that NumPy understands, negative steps included."""
    return x[()] if not slices else _flip_backward_slices(x, slices)


def _flip_backward_slices(x: torch.Tensor, slices: tuple[Any, ...]) -> torch.Tensor:
    axis = 0
    keys: list[Any] = []
    for key in slices:
        width = _width(key)
        if key is Ellipsis:
            axis = x.ndim - sum(_width(other) for other in slices[len(keys) + 1 :])
        elif isinstance(key, slice) and (key.step or 1) < 0 and axis < x.ndim:
            places = torch.arange(x.shape[axis], device=x.device)[list(range(*key.indices(x.shape[axis])))]
            x, key = x.index_select(axis, places), slice(None)
        keys.append(_as_key(key, x.device))
        axis += width
    if any(isinstance(key, torch.Tensor) for key in keys):  # beside an array NumPy takes an int for an array, too
        keys = [torch.tensor([key], device=x.device) if type(key) is int else key for key in keys]
    return x[tuple(keys)]


def _width(key: Any) -> int:
    """How many axes an index takes up."""
    if key is None or key is Ellipsis or isinstance(key, (bool, numpy.bool_)):
        return 0
    if isinstance(key, (numpy.ndarray, list)) and numpy.asarray(key).dtype == bool:
        return numpy.asarray(key).ndim
    return 1


def _as_key(key: Any, device: torch.device) -> Any:
    if isinstance(key, cuda.ndarray):
        return key.tensor
    if isinstance(key, list):
        key = numpy.asarray(key, None if key else int)
    if isinstance(key, numpy.ndarray):
        if key.dtype.kind not in "iub":
            raise IndexError(f"arrays used as indices must be of integer (or boolean) type, got {key.dtype}")
        return as_tensor(key if key.dtype == bool else key.astype(numpy.int64)).to(device)
    if isinstance(key, str):
        raise IndexError(f"only integers, slices, `...`, None and arrays of ints or booleans are indices, got {key!r}")
    return key.item() if isinstance(key, numpy.generic) else key


def get_item(x: Any, slices: Any) -> Variable:
    """`x[slices]` with ints, slices, None, `...` and arrays of ints or booleans, as NumPy has it."""
    return GetItem(slices).apply((x,))[0]
