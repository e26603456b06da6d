"""Indices of tensors with everything that NumPy understands."""

from typing import Any

import numpy
import torch

from ..backends import cuda
from ..backends._tensors import as_tensor
from ..configuration import config

Tensor = torch.Tensor
Key = Any
"""An int, a slice, None, `...`, or an array or list of ints or booleans."""


def as_slices(slices: Key) -> tuple[Key, ...]:
    """An index as a tuple of indices; a list of ints is one index.

    A Variable or a second `...` is an IndexError, a second `...` in debug mode a ValueError (Chainer 7.8.1, recorded).
    """
    if isinstance(slices, list):
        slices = (slices,) if all(isinstance(s, int) for s in slices) else tuple(slices)
    elif not isinstance(slices, tuple):
        slices = (slices,)
    for key in slices:
        if hasattr(key, "creator_node"):
            raise IndexError("a Variable is no index; use its array")
    if sum(key is Ellipsis for key in slices) > 1:
        raise (ValueError if config.debug else IndexError)("an index can only have a single ellipsis ('...')")
    return slices


def take(x: Tensor, slices: tuple[Key, ...]) -> Tensor:
    """`x[slices]`, negative steps included."""
    axis = 0
    keys: list[Key] = []
    for key in slices:
        width = _width(key)
        if key is Ellipsis:
            axis = x.ndim - sum(_width(other) for other in slices[len(keys) + 1 :])
        elif isinstance(key, slice) and (key.step or 1) < 0 and axis < x.ndim:
            places = torch.arange(x.shape[axis], device=x.device)[list(range(*key.indices(x.shape[axis])))]
            x, key = x.index_select(axis, places), slice(None)
        keys.append(_as_key(key, x.device))
        axis += width
    if any(isinstance(key, Tensor) for key in keys):  # beside an array NumPy takes an int for an array, too
        keys = [torch.tensor([key], device=x.device) if type(key) is int else key for key in keys]
        kinds = [type(key) for key in keys]
        if type(Ellipsis) in kinds and sum(map(_width, slices)) == x.ndim:
            place = kinds.index(type(Ellipsis))
            if Tensor in kinds[:place] and Tensor in kinds[place:]:
                return _take_around(x, keys, place)
    return x[tuple(keys)]


def _take_around(x: Tensor, keys: list[Key], place: int) -> Tensor:
    """`x[keys]` with arrays on both sides of an ellipsis that stands for no axis.

    NumPy (2.4, by its results) takes such arrays for separate ones and puts their axes first; torch leaves the ellipsis out.
    """
    arrays = [key for key in keys if isinstance(key, Tensor)]
    axes = max(1 if key.dtype == torch.bool else key.ndim for key in arrays)
    before = sum(not isinstance(key, Tensor) for key in keys[:place])
    apart = (*keys[:place], None, *keys[place + 1 :])
    return x[apart].squeeze(axes + before)


def _width(key: Key) -> int:
    """How many axes an index takes up."""
    if key is None or key is Ellipsis or isinstance(key, (bool, numpy.bool_)):
        return 0
    if isinstance(key, (numpy.ndarray, list)) and numpy.asarray(key).dtype == bool:
        return numpy.asarray(key).ndim
    return 1


def _as_key(key: Key, device: torch.device) -> Key:
    if isinstance(key, cuda.ndarray):
        return key.tensor
    if isinstance(key, list):
        key = numpy.asarray(key, None if key else int)
    if isinstance(key, numpy.ndarray) and key.ndim == 0 and key.dtype.kind in "iu":
        return key.item()
    if isinstance(key, numpy.ndarray):
        if key.dtype.kind not in "iub":
            raise IndexError(f"arrays used as indices must be of integer (or boolean) type, got {key.dtype}")
        return as_tensor(key if key.dtype == bool else key.astype(numpy.int64)).to(device)
    if isinstance(key, str):
        raise IndexError(f"only integers, slices, `...`, None and arrays of ints or booleans are indices, got {key!r}")
    return key.item() if isinstance(key, numpy.generic) else key
