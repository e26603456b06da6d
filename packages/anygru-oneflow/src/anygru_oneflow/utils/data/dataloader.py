"""Loaders, samplers and parts of data sets: torch's, giving OneFlow's tensors."""

import inspect
from collections.abc import Iterator
from typing import Any

from torch.utils.data import Dataset, dataloader
from torch.utils.data import Sampler as _Sampler
from torch.utils.data import Subset as _Subset

from ._utils.collate import default_collate, default_convert

__all__ = ["DataLoader", "Sampler", "Subset"]

_ARGUMENTS = inspect.signature(dataloader.DataLoader.__init__)


class Sampler(_Sampler[Any]):
    """The base of samplers, which takes the data set and leaves it to the subclass, as torch's no longer does."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class Subset(_Subset[Any]):
    """As torch's, but a subclass may define `__getitem__` alone."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class _SingleProcessDataLoaderIter(dataloader._SingleProcessDataLoaderIter):
    next = dataloader._SingleProcessDataLoaderIter.__next__


class _MultiProcessingDataLoaderIter(dataloader._MultiProcessingDataLoaderIter):
    next = dataloader._MultiProcessingDataLoaderIter.__next__


class DataLoader(dataloader.DataLoader[Any]):
    """As torch.utils.data.DataLoader, with OneFlow's tensors; its iterators have a method `next`."""

    def __init__(self, dataset: Dataset[Any], *arguments: Any, **keywords: Any) -> None:
        given = _ARGUMENTS.bind(self, dataset, *arguments, **keywords)
        options = given.arguments
        in_batches = options.get("batch_size", 1) is not None or options.get("batch_sampler") is not None
        if options.get("collate_fn") is None:
            options["collate_fn"] = default_collate if in_batches else default_convert
        ahead = options.get("prefetch_factor", 2)
        if not options.get("num_workers") and ahead == 2:  # OneFlow's default, which torch allows beside workers alone
            options.pop("prefetch_factor", None)
        super().__init__(*given.args[1:], **given.kwargs)
        self.prefetch_factor = ahead

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)
