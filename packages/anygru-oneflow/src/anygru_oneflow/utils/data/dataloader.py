"""Loaders, samplers and parts of data sets: torch's, giving OneFlow's tensors in OneFlow's order."""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torch.utils.data import Dataset, IterableDataset, dataloader

from anygru.extend import bound

from ...framework.generator import Generator, default_generator
from ._utils.collate import default_collate, default_convert

__all__ = ["DataLoader", "RandomSampler", "Sampler", "Subset", "SubsetRandomSampler", "random_split"]

_ARGUMENTS = inspect.signature(dataloader.DataLoader.__init__)
_LARGEST = (1 << 63) - 1
# The default argument of OneFlow 0.9.0, which all loaders of a process share and `oneflow.manual_seed` does not seed
# (recorded).
_SHARED_GENERATOR = Generator("cpu")


class Sampler(torch.utils.data.Sampler[Any]):
    """The base of samplers, which takes the data set and leaves it to the subclass, as torch's no longer does."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class RandomSampler(torch.utils.data.RandomSampler):
    """Places of a data set in random order. Without a generator `numpy.random` seeds one at each iteration, as in 0.9.0."""

    def __iter__(self) -> Iterator[int]:
        size, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator("cpu").manual_seed(np.random.randint(0, _LARGEST))
        if not self.replacement:
            yield from generator.permutation(size).tolist()
            return
        for start in range(0, self.num_samples + 1, 32):
            yield from generator.integers(min(32, self.num_samples - start), 0, size).tolist()


class SubsetRandomSampler(torch.utils.data.SubsetRandomSampler):
    """The given places in random order."""

    def __iter__(self) -> Iterator[int]:
        order = (self.generator or default_generator).permutation(len(self.indices))
        return (self.indices[place] for place in order.tolist())


def random_split(
    dataset: Dataset[Any], lengths: Sequence[int], generator: Generator = default_generator
) -> list["Subset"]:
    """Split a data set at random into parts of these lengths. Raises ValueError if they do not add up to its length."""
    if sum(lengths) != len(dataset):  # type: ignore[arg-type]
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = generator.permutation(sum(lengths)).tolist()
    ends = np.cumsum(lengths).tolist()
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


class Subset(torch.utils.data.Subset[Any]):
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
        given = bound(_ARGUMENTS, "DataLoader.__init__", (self, dataset, *arguments), keywords, defaults=False)
        options = given.arguments
        in_batches = options.get("batch_size", 1) is not None or options.get("batch_sampler") is not None
        if options.get("collate_fn") is None:
            options["collate_fn"] = default_collate if in_batches else default_convert
        ahead = options.get("prefetch_factor", 2)
        if not options.get("num_workers") and ahead == 2:  # OneFlow's default, which torch allows only with workers
            options.pop("prefetch_factor", None)
        generator = options.setdefault("generator", _SHARED_GENERATOR)
        if options.get("shuffle") and options.get("sampler") is None and not isinstance(dataset, IterableDataset):
            options.update(shuffle=False, sampler=RandomSampler(dataset, generator=generator))  # type: ignore[arg-type]
        super().__init__(*given.args[1:], **given.kwargs)
        self.prefetch_factor = ahead

    def _get_iterator(self) -> Any:
        if isinstance(self.generator, Generator):
            self.generator.integers(1, 0, _LARGEST)  # the seed of workers in OneFlow, drawn before the order
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)
