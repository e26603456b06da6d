"""Several datasets side by side."""

from __future__ import annotations

from typing import Any


class TupleDataset:
    """Tuples of the elements of datasets of one length (ValueError if they differ or there is none)."""

    def __init__(self, *datasets: Any) -> None:
        if not datasets:
            raise ValueError("no datasets are given")
        for i, dataset in enumerate(datasets):
            if len(dataset) != len(datasets[0]):
                raise ValueError(f"dataset of the index {i} has a wrong length")
        self._datasets = datasets
        self._length = len(datasets[0])

    def __getitem__(self, index: Any) -> Any:
        columns = [dataset[index] for dataset in self._datasets]
        return list(zip(*columns, strict=True)) if isinstance(index, slice) else tuple(columns)

    def __len__(self) -> int:
        return self._length
