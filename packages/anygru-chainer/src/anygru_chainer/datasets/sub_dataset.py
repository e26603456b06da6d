"""Parts of datasets."""

from typing import Any

import numpy

from ..dataset.base import DatasetMixin, Examples

__all__ = [
    "SubDataset",
    "get_cross_validation_datasets",
    "get_cross_validation_datasets_random",
    "split_dataset",
    "split_dataset_n",
    "split_dataset_n_random",
    "split_dataset_random",
]


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
