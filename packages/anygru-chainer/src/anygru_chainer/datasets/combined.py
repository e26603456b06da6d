"""Datasets that combine, divide or transform others, and lines of text files."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..dataset import DatasetMixin, Examples

__all__ = [
    "ConcatenatedDataset", "DictDataset", "SubDataset", "TextDataset", "TransformDataset", "TupleDataset",
    "get_cross_validation_datasets", "get_cross_validation_datasets_random", "split_dataset", "split_dataset_n",
    "split_dataset_n_random", "split_dataset_random",
]  # fmt: skip


class ConcatenatedDataset(DatasetMixin):
    """The examples of several datasets, concatenated."""

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
    """Dictionaries of the elements of datasets of one length (ValueError for different lengths or no dataset)."""

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
    """Tuples of the elements of datasets of one length (ValueError for different lengths or no dataset)."""

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


class SubDataset(DatasetMixin):
    """The examples `start` to `finish` of a dataset, taken in an order if one is given.

    Raises:
        ValueError: the part reaches beyond the dataset, or the order is not as long as it.
    """

    def __init__(self, dataset: Examples, start: int, finish: int, order: numpy.ndarray | None = None) -> None:
        if start < 0 or finish > len(dataset):
            raise ValueError("subset overruns the base dataset.")
        if order is not None and len(order) != len(dataset):
            raise ValueError(
                f"order option must have the same length as the base dataset: len(order) = {len(order)} while "
                f"len(dataset) = {len(dataset)}"
            )
        self._dataset = dataset
        self._start = start
        self._finish = finish
        self._size = finish - start
        self._order = order

    def __len__(self) -> int:
        return self._size

    def get_example(self, i: int) -> Any:
        if not -self._size <= i < self._size:
            raise IndexError("dataset index out of range")
        index = (self._start if i >= 0 else self._finish) + i
        return self._dataset[index if self._order is None else self._order[index]]


def split_dataset(
    dataset: Examples, split_at: int, order: numpy.ndarray | None = None
) -> tuple[SubDataset, SubDataset]:
    """The examples before and from `split_at` on (TypeError, ValueError for a bad place)."""
    if not isinstance(split_at, (int, numpy.integer)):
        raise TypeError(f"split_at must be int, got {type(split_at)} instead")
    if split_at < 0:
        raise ValueError("split_at must be non-negative")
    if split_at > len(dataset):
        raise ValueError("split_at exceeds the dataset size")
    return SubDataset(dataset, 0, split_at, order), SubDataset(dataset, split_at, len(dataset), order)


def _random_order(dataset: Examples, seed: int | None) -> Any:
    return numpy.random.RandomState(seed).permutation(len(dataset))


def split_dataset_random(dataset: Examples, first_size: int, seed: int | None = None) -> tuple[SubDataset, SubDataset]:
    """Two parts of the shuffled dataset, the first of a given size."""
    return split_dataset(dataset, first_size, _random_order(dataset, seed))


def split_dataset_n(dataset: Examples, n: int, order: numpy.ndarray | None = None) -> list[SubDataset]:
    """`n` parts of one size; the rest is dropped."""
    size = len(dataset) // n
    return [SubDataset(dataset, size * i, size * (i + 1), order) for i in range(n)]


def split_dataset_n_random(dataset: Examples, n: int, seed: int | None = None) -> list[SubDataset]:
    """`n` parts of one size of the shuffled dataset; the rest is dropped."""
    return split_dataset_n(dataset, n, _random_order(dataset, seed))


def get_cross_validation_datasets(
    dataset: Examples, n_folds: int | None = None, order: numpy.ndarray | None = None, *, n_fold: int | None = None
) -> list[tuple[SubDataset, SubDataset]]:
    """`n_folds` (or `n_fold`, its old name) pairs of a training part and a test part; each example is in one test part."""
    n_folds = n_fold if n_folds is None else n_folds
    if n_folds is None:
        raise ValueError("get_cross_validation_datasets needs n_folds")
    order = numpy.arange(len(dataset)) if order is None else numpy.array(order)
    borders = [len(dataset) * i // n_folds for i in range(n_folds + 1)]
    splits = []
    # The order turns by one part each time, from the end (Chainer 7.8.1, seen).
    for start, stop in reversed(list(zip(borders, borders[1:], strict=False))):
        size = stop - start
        splits.append(split_dataset(dataset, len(dataset) - size, order))
        order = numpy.concatenate((order[len(order) - size :], order[: len(order) - size]))
    return splits


def get_cross_validation_datasets_random(
    dataset: Examples, n_folds: int, seed: int | None = None
) -> list[tuple[SubDataset, SubDataset]]:
    """Cross validation over the shuffled dataset."""
    return get_cross_validation_datasets(dataset, n_folds, _random_order(dataset, seed))


class TextDataset(DatasetMixin):
    """The lines of one or more text files, line i of all of them as example i (a text for one file, a tuple for several).

    Args:
        paths: path or list of paths.
        encoding, errors, newline: as in `open`, for all files, or a list with an item for each file.
        filter_func: function of a line of each file; examples for which it is False are skipped.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        encoding: str | Sequence[str | None] | None = None,
        errors: str | Sequence[str | None] | None = None,
        newline: str | Sequence[str | None] | None = None,
        filter_func: Callable[..., bool] | None = None,
    ) -> None:
        paths = [paths] if isinstance(paths, str) else list(paths)
        if not paths:
            raise ValueError("at least one text file must be specified")
        options = [_per_file(option, len(paths)) for option in (encoding, errors, newline)]
        columns = []
        for path, enc, err, end in zip(paths, *options, strict=True):
            with open(path, encoding=enc, errors=err, newline=end) as file:
                columns.append(list(file))
        if len({len(column) for column in columns}) > 1:
            raise ValueError("number of lines in files does not match")
        self._lines: list[Any] | None = [
            row for row in zip(*columns, strict=True) if filter_func is None or filter_func(*row)
        ]
        self._length = len(self._lines)

    def __len__(self) -> int:
        return self._length

    def close(self) -> None:
        """Forget the lines: no example can be read any more (ValueError)."""
        self._lines = None

    def get_example(self, i: int) -> Any:
        if self._lines is None:
            raise ValueError("the dataset has been closed")
        row = self._lines[i]
        return row[0] if len(row) == 1 else row


def _per_file(option: str | Sequence[str | None] | None, n_files: int) -> list[Any]:
    if isinstance(option, (list, tuple)):
        if len(option) != n_files:
            raise ValueError("length of encoding, errors and newline must match the number of files")
        return list(option)
    return [option] * n_files
