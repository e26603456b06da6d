"""`paddle.io.DataLoader`; its worker processes are torch's."""

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ..base.core import CPUPlace, set_expected_place
from ..framework.random import seed
from .dataloader.batch_sampler import BatchSampler
from .dataloader.collate import as_arrays, as_tensors, default_collate_fn
from .dataloader.dataset import IterableDataset

__all__ = ["DataLoader", "get_worker_info"]


class _Sent:
    """A collate function that converts its tensors to arrays for transport."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate = collate

    def __call__(self, batch: Any) -> Any:
        return as_arrays(self.collate(batch))


class _OnCPU:
    """The first call in a worker: its tensors are on the CPU, since a process that was forked cannot use CUDA.

    Its random numbers equal 2.6.2's (read and recorded): the loader draws the seed from NumPy.
    """

    def __init__(self, then: Callable[[int], None] | None) -> None:
        self.then, self.seed = then, int(np.random.randint(0, sys.maxsize))

    def __call__(self, number: int) -> None:
        set_expected_place(CPUPlace())
        random.seed(self.seed + number)
        seed(self.seed + number)
        entropy = [number, self.seed & 0xFFFFFFFF, self.seed >> 32]
        np.random.seed(np.random.SeedSequence(entropy).generate_state(4))
        if self.then is not None:
            self.then(number)


def _unchanged(sample: Any) -> Any:
    return sample


class DataLoader:
    """Batches of a dataset.

    Args:
        dataset: by number or iterable.
        feed_list, places: kept for scripts; batches go to the current device.
        return_list: kept for scripts; fields come as a list, as in 2.6.2's dynamic graph.
        batch_sampler: which samples make a batch, instead of batch_size, shuffle and drop_last.
        batch_size: samples a batch; None gives the samples themselves.
        shuffle: take samples by chance.
        drop_last: leave out a last batch that is not full.
        collate_fn: puts a list of samples together.
        num_workers: processes that read samples; 0 reads in this one.
        use_buffer_reader, use_shared_memory: kept for scripts.
        prefetch_factor: batches that each process prepares.
        timeout: seconds to wait for a batch of a process, 0 to wait forever.
        worker_init_fn: called with its number in each process.
        persistent_workers: keep the processes from one epoch to the next.

    Raises:
        AssertionError: for options that do not go together.
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if not isinstance(num_workers, int) or num_workers < 0:
            raise AssertionError("num_workers should be a non-negative value")
        if timeout < 0:
            raise AssertionError("timeout should be a non-negative value")
        self.dataset, self.return_list, self.collate_fn = dataset, return_list, collate_fn
        self.num_workers, self.prefetch_factor, self.timeout = num_workers, prefetch_factor, timeout
        self.worker_init_fn = worker_init_fn
        self._iterable = isinstance(dataset, IterableDataset)
        self._persistent_workers = persistent_workers and num_workers > 0
        self.drop_last = drop_last
        self.batch_sampler: Any = None
        self.batch_size: int | None = None
        if self._iterable:
            if shuffle:
                raise ValueError(f"IterableDataset not support shuffle, but got shuffle={shuffle}")
            if batch_sampler is not None:
                raise ValueError("IterableDataset expect unspecified batch_sampler")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or drop_last:
                raise AssertionError("batch_size/shuffle/drop_last should not be set when batch_sampler is given")
            self.batch_sampler = batch_sampler
        elif batch_size is not None:
            if batch_size <= 0:
                raise AssertionError("batch_size should be None or a positive value when batch_sampler is not given")
            self.batch_size = batch_size
            if not self._iterable:
                self.batch_sampler = BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)
        self._loader: Any = None

    def __len__(self) -> int:
        if self._iterable:
            raise ValueError("length of IterableDataset not supported")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        batches = self._from_workers() if self.num_workers else self._here()
        return (as_tensors(batch) for batch in batches)

    __call__ = __iter__

    def _here(self) -> Iterator[Any]:
        collate = self.collate_fn or default_collate_fn
        if self._iterable:
            samples = iter(self.dataset)
            if self.batch_size is None:
                yield from samples
                return
            while batch := list(itertools.islice(samples, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield collate(batch)
        elif self.batch_sampler is None:
            for index in range(len(self.dataset)):
                sample = self.dataset[index]
                yield sample if self.collate_fn is None else self.collate_fn(sample)
        else:
            for indices in self.batch_sampler:
                yield collate([self.dataset[index] for index in indices])

    def _from_workers(self) -> Any:
        if self._loader is None or not self._persistent_workers:
            options: dict[str, Any] = {}
            if self.batch_sampler is not None:
                options["batch_sampler"] = self.batch_sampler
            else:
                options["batch_size"] = self.batch_size
                options["drop_last"] = self.drop_last and self.batch_size is not None
            whole = self.batch_sampler is None and self.batch_size is None
            self._loader = torch.utils.data.DataLoader(
                self.dataset, num_workers=self.num_workers, prefetch_factor=self.prefetch_factor, timeout=self.timeout,
                worker_init_fn=_OnCPU(self.worker_init_fn), persistent_workers=self._persistent_workers,
                collate_fn=_Sent(self.collate_fn or (_unchanged if whole else default_collate_fn)), **options,
            )  # fmt: skip
        return iter(self._loader)


def get_worker_info() -> Any:
    """In a worker process its `id`, `num_workers` and `dataset`; None elsewhere."""
    return torch.utils.data.get_worker_info()
