"""Datasets one after the other."""

from __future__ import annotations

from typing import Any

from ..dataset.dataset_mixin import DatasetMixin


class ConcatenatedDataset(DatasetMixin):
    """The examples of several datasets in turn."""

    def __init__(self, *datasets: Any) -> None:
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
