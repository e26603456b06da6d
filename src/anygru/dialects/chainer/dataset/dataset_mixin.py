"""Indexing for datasets."""

from __future__ import annotations

from typing import Any

import numpy


class DatasetMixin:
    """Slices and lists of indices for a dataset that defines `__len__` and `get_example(i)`."""

    def __getitem__(self, index: Any) -> Any:
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
