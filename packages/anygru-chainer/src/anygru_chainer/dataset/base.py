"""The base classes of datasets and iterators."""

from typing import Any, Protocol

import numpy

from ..serializer import AbstractSerializer

__all__ = [
    "DatasetMixin",
    "Iterator",
]


class Examples(Protocol):
    """Anything with a length whose examples are found by their index."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class DatasetMixin:
    """Slices and lists of indices for a dataset that defines `__len__` and `get_example(i)`."""

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self.get_example(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, (list, numpy.ndarray)):
            return [self.get_example(i) for i in index]
        return self.get_example(index)

    def __len__(self) -> int:
        raise NotImplementedError

    def get_example(self, i: int) -> Any:
        """The example at i."""
        raise NotImplementedError


class Iterator:
    """Gives batches, lists of examples, one after the other."""

    def __del__(self) -> None:
        self.finalize()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()

    def finalize(self) -> None:
        """Give back what the iterator holds; nothing by default."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        self.finalize()

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the state; nothing by default."""
