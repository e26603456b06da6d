"""Which samples make a batch."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...distributed.environment import place
from .dataset import IterableDataset
from .sampler import RandomSampler, Sampler, SequenceSampler

__all__ = ["BatchSampler", "DistributedBatchSampler"]


class BatchSampler(Sampler):
    """Lists of sample numbers.

    Args:
        dataset: numbers its samples; or give a sampler.
        sampler: the order of samples, instead of a dataset.
        shuffle: take the dataset's samples by chance.
        batch_size: samples a batch.
        drop_last: drop a last batch that is not full.
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if dataset is None:
            if sampler is None:
                raise AssertionError("either dataset or sampler should be set")
            if not isinstance(sampler, Sampler):
                raise AssertionError(f"sampler should be a paddle.io.Sampler, but got {type(sampler)}")
            if shuffle:
                raise AssertionError("shuffle should be False when sampler is set")
            self.sampler = sampler
        else:
            if isinstance(dataset, IterableDataset):
                raise AssertionError("dataset should not be a paddle.io.IterableDataset")
            if sampler is not None:
                raise AssertionError("should not set both dataset and sampler")
            if not isinstance(shuffle, bool):
                raise AssertionError(f"shuffle should be a boolean value, but got {type(shuffle)}")
            self.sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        if not isinstance(batch_size, int) or batch_size <= 0:
            raise AssertionError(f"batch_size should be a positive integer, but got {batch_size}")
        if not isinstance(drop_last, bool):
            raise AssertionError(f"drop_last should be a boolean value, but got {type(drop_last)}")
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override]
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of one process of several; all get the same number of samples, the first ones serving twice if need be.

    Args:
        dataset: numbers its samples.
        batch_size: samples a batch of one process.
        num_replicas, rank: how many processes, and which this is; default: the parallel environment's.
        shuffle: a new order every epoch, the same in all processes.
        drop_last: drop a last batch that is not full.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        if not isinstance(batch_size, int) or batch_size <= 0:
            raise AssertionError("batch_size should be a positive integer")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.nranks = place().size if num_replicas is None else num_replicas
        self.local_rank = place().rank if rank is None else rank
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks

    def _own(self, order: list[int]) -> list[int]:
        """This process's part: every n-th whole batch, then an equal share of the remaining samples."""
        together = self.batch_size * self.nranks
        whole = len(order) - len(order) % together
        own: list[int] = []
        for start in range(self.local_rank * self.batch_size, whole, together):
            own += order[start : start + self.batch_size]
        share = (len(order) - whole) // self.nranks
        rest = order[whole:]
        return own + rest[self.local_rank * share : (self.local_rank + 1) * share]

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override]
        order = list(range(len(self.dataset)))
        order += order[: self.total_size - len(order)]
        if self.shuffle:
            # No chance of the program has part in it: all processes need the same order (recorded, 2.6.2).
            np.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        own = self._own(order)
        for start in range(0, len(own), self.batch_size):
            batch = own[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        if self.drop_last:
            return self.num_samples // self.batch_size
        return math.ceil(self.num_samples / self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch
