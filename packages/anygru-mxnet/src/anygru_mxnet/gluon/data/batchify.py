"""Functions that make a batch from samples: stack them, pad them to one length, or group their elements."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ndarray
from ...base import DtypeLike
from ...ndarray.ndarray import NDArray


class Stack:
    """Stacks samples of one shape into an array."""

    def __init__(self, use_shared_mem: bool = False) -> None:
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: list) -> NDArray:
        if isinstance(data[0], NDArray):
            return ndarray.stack(*data)
        values = np.asarray(data)
        return ndarray.array(values, dtype=values.dtype)


class Pad:
    """Pads samples of several lengths and stacks them into an array.

    Args:
        val: the padding value, 0 by default.
        dtype: of the array; the samples' by default.
        round_to: the padded length is a multiple of this number.
    """

    def __init__(
        self,
        val: float | None = None,
        dtype: DtypeLike = None,
        round_to: int | None = None,
        use_shared_mem: bool = False,
    ) -> None:
        self._val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to

    def __call__(self, data: list) -> NDArray:
        samples = [np.asarray(one.asnumpy() if isinstance(one, NDArray) else one) for one in data]
        sizes = [max(sample.shape[axis] for sample in samples) for axis in range(samples[0].ndim)]
        if self._round_to is not None:
            sizes = [-(-size // self._round_to) * self._round_to for size in sizes]
        # The first sample determines the class of the batch.
        dtype = self._dtype or samples[0].dtype
        batch = np.full((len(samples), *sizes), self._val, dtype=dtype)
        for row, sample in zip(batch, samples, strict=True):
            row[tuple(slice(size) for size in sample.shape)] = sample
        return ndarray.array(batch, dtype=dtype)


class Group:
    """Applies a function to each element of the samples."""

    def __init__(self, fn: Any, *args: Callable) -> None:
        if isinstance(fn, (list, tuple)):
            assert not args, (
                "Input pattern not understood. The input of Group can be Group(A, B, C) or Group([A, B, C])"
            )
            self._functions = list(fn)
        else:
            self._functions = [fn, *args]
        for place, function in enumerate(self._functions):
            assert callable(function), f"Batchify functions must be callable! Got {type(function)} at {place}"

    def __call__(self, data: list) -> tuple:
        assert len(data[0]) == len(self._functions), (
            f"The number of attributes in each data sample should contain {len(self._functions)} elements"
        )
        columns = zip(*data, strict=True)
        return tuple(function(list(column)) for function, column in zip(self._functions, columns, strict=True))


class AsList:
    """Returns the list of samples."""

    def __call__(self, data: list) -> list:
        return list(data)
