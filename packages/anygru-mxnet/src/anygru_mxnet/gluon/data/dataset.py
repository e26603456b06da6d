"""Datasets: samples with positions."""

from collections.abc import Callable
from typing import Any

from ...ndarray.ndarray import NDArray
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "SimpleDataset"]


class Dataset:
    """A sequence of samples, with `dataset[i]` and `len(dataset)`."""

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def filter(self, fn: Callable[[Any], bool]) -> "Dataset":
        """The samples for which the function returns True."""
        return _Sampled(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> "Dataset":
        """Part `index` of `num_shards` parts of almost the same size."""
        assert index < num_shards, f"Shard index of out bound: {index} out of {num_shards}"
        assert num_shards > 0, "Number of shards must be greater than 0"
        assert index >= 0, "Index must be non-negative"
        length, rest = divmod(len(self), num_shards)
        start = length * index + min(index, rest)
        return _Sampled(self, SequentialSampler(length + (index < rest), start))

    def take(self, count: int | None) -> "Dataset":
        """The first `count` samples."""
        size = len(self)
        return _Sampled(self, SequentialSampler(size if count is None else min(count, size)))

    def sample(self, sampler: Sampler) -> "Dataset":
        """The samples in the order of a sampler.

        Raises:
            TypeError: the argument is not a sampler.
        """
        if not isinstance(sampler, Sampler):
            raise TypeError(f"Invalid sampler type: {type(sampler)}. Expected gluon.data.Sampler instead.")
        return _Sampled(self, sampler)

    def transform(self, fn: Callable, lazy: bool = True) -> "Dataset":
        """The samples, changed by a function when they are read (`lazy`), or all immediately."""
        changed = _Transformed(self, fn)
        return changed if lazy else SimpleDataset([changed[i] for i in range(len(changed))])

    def transform_first(self, fn: Callable, lazy: bool = True) -> "Dataset":
        """The samples with their first element changed by a function."""
        return self.transform(_First(fn), lazy)


class SimpleDataset(Dataset):
    """The items of a list or array."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class _Transformed(Dataset):
    def __init__(self, data: Dataset, fn: Callable) -> None:
        self._data = data
        self._fn = fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _First:
    """A function that changes the first of several arguments."""

    def __init__(self, fn: Callable) -> None:
        self._fn = fn

    def __call__(self, first: Any, *others: Any) -> Any:
        return (self._fn(first), *others) if others else self._fn(first)


class _Sampled(Dataset):
    def __init__(self, dataset: Dataset, sampler: Sampler) -> None:
        self._dataset = dataset
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Samples from arrays, lists or datasets of one length. Each sample of several arrays is a tuple.

    Raises:
        AssertionError: without arrays, and for different lengths.
    """

    def __init__(self, *args: Any) -> None:
        assert len(args) > 0, "Needs at least 1 arrays"
        self._length = len(args[0])
        self._data = []
        for place, data in enumerate(args):
            assert len(data) == self._length, (
                f"All arrays must have the same length; array[0] has length {self._length} while array[{place + 1}] has "
                f"{len(data)}."
            )
            # The elements of a vector, for example of labels, are NumPy scalars.
            self._data.append(data.asnumpy() if isinstance(data, NDArray) and data.ndim == 1 else data)

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length
