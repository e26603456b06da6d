"""Datasets: samples by number, or one after another."""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

__all__ = [
    "ChainDataset", "ComposeDataset", "ConcatDataset", "Dataset", "IterableDataset", "Subset", "TensorDataset",
    "random_split",
]  # fmt: skip


class Dataset:
    """Samples by number. Subclasses give `__getitem__` and `__len__`."""

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError(f"'__getitem__' not implement in class {type(self).__name__}")

    def __len__(self) -> int:
        raise NotImplementedError(f"'__len__' not implement in class {type(self).__name__}")


class IterableDataset(torch.utils.data.IterableDataset, Dataset):
    """Samples one after another. Subclasses give `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"'__iter__' not implement in class {type(self).__name__}")

    def __getitem__(self, idx: Any) -> Any:
        raise RuntimeError(f"'__getitem__' should not be called for IterableDataset{type(self).__name__}")

    def __len__(self) -> int:
        raise RuntimeError(f"'__len__' should not be called for IterableDataset{type(self).__name__}")


class TensorDataset(Dataset):
    """Samples along the first axis of tensors of one length."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        if not all(int(each.shape[0]) == int(tensors[0].shape[0]) for each in tensors):
            raise AssertionError("tensors not have same shape of the 1st dimension")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(each[index] for each in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class ComposeDataset(Dataset):
    """The fields of several datasets of one length side by side."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("input datasets shoule not be empty")
        for each in self.datasets:
            if not isinstance(each, Dataset) or isinstance(each, IterableDataset):
                raise AssertionError("each input dataset should be paddle.io.Dataset")
            if len(each) != len(self.datasets[0]):
                raise AssertionError("lengths of datasets should be same")

    def __getitem__(self, idx: Any) -> tuple[Any, ...]:
        sample: list[Any] = []
        for each in self.datasets:
            fields = each[idx]
            sample.extend(fields if isinstance(fields, (tuple, list)) else [fields])
        return tuple(sample)

    def __len__(self) -> int:
        return len(self.datasets[0])


class ChainDataset(IterableDataset):
    """Iterable datasets one after another."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("input datasets shoule not be empty")
        if not all(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ChainDataset only support paddle.io.IterableDataset")

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


class Subset(Dataset):
    """The samples `indices` of another dataset."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> Any:
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(each) for each in self.datasets))

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        place = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[place][idx - (self.cumulative_sizes[place - 1] if place else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(dataset: Any, lengths: Sequence[Any], generator: Any = None) -> list[Subset]:
    """Parts of a dataset with given lengths, drawn by chance.

    Raises:
        ValueError: if the lengths do not sum to the dataset's length.
    """
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    from ...tensor.random import randperm

    # Paddle's own chance, unlike the samplers'; `generator` has no effect in 2.6.2 either (recorded).
    order = randperm(len(dataset)).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
