"""A dataset seen through a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dataset.dataset_mixin import DatasetMixin


class TransformDataset(DatasetMixin):
    """`transform(example)` for each example of a dataset."""

    def __init__(self, dataset: Any, transform: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        self._transform = transform

    def __len__(self) -> int:
        return len(self._dataset)

    def get_example(self, i: int) -> Any:
        return self._transform(self._dataset[i])
