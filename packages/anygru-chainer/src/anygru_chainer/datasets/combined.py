"""Datasets made of other datasets."""

from collections.abc import Callable
from typing import Any

from ..dataset.base import DatasetMixin, Examples

__all__ = [
    "ConcatenatedDataset",
    "DictDataset",
    "TransformDataset",
    "TupleDataset",
]


class ConcatenatedDataset(DatasetMixin):
    """The examples of several datasets in turn."""

    def __init__(self, *datasets: Examples) -> None:
        self._datasets = datasets

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._datasets)

    def get_example(self, i: int) -> Any:
        if i < 0:
            raise IndexError(f"index must not be negative, got {i}")
        for dataset in self._datasets:
            if i < len(dataset):
                return dataset[i]
            i -= len(dataset)
        raise IndexError("dataset index out of range")


class DictDataset:
    """Dictionaries of the elements of datasets of one length (ValueError if they differ or there is none)."""

    def __init__(self, **datasets: Any) -> None:
        if not datasets:
            raise ValueError("no datasets are given")
        lengths = {len(dataset) for dataset in datasets.values()}
        if len(lengths) > 1:
            raise ValueError(f"dataset lengths conflict: { {key: len(d) for key, d in datasets.items()} }")
        self._datasets = datasets
        self._length = lengths.pop()

    def __getitem__(self, index: int | slice) -> Any:
        columns = {key: dataset[index] for key, dataset in self._datasets.items()}
        if not isinstance(index, slice):
            return columns
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __len__(self) -> int:
        return self._length


class TransformDataset(DatasetMixin):
    """`transform(example)` for each example of a dataset."""

    def __init__(self, dataset: Examples, transform: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        self._transform = transform

    def __len__(self) -> int:
        return len(self._dataset)

    def get_example(self, i: int) -> Any:
        return self._transform(self._dataset[i])


class TupleDataset:
    """Tuples of the elements of datasets of one length (ValueError if they differ or there is none)."""

    def __init__(self, *datasets: Examples) -> None:
        if not datasets:
            raise ValueError("no datasets are given")
        for i, dataset in enumerate(datasets):
            if len(dataset) != len(datasets[0]):
                raise ValueError(f"dataset of the index {i} has a wrong length")
        self._datasets = datasets
        self._length = len(datasets[0])

    def __getitem__(self, index: int | slice) -> Any:
        columns = [dataset[index] for dataset in self._datasets]
        return list(zip(*columns, strict=True)) if isinstance(index, slice) else tuple(columns)

    def __len__(self) -> int:
        return self._length
