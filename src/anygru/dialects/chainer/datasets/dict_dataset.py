"""Several datasets side by side, by name."""

from __future__ import annotations

from typing import Any


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

    def __getitem__(self, index: Any) -> Any:
        columns = {key: dataset[index] for key, dataset in self._datasets.items()}
        if not isinstance(index, slice):
            return columns
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __len__(self) -> int:
        return self._length
