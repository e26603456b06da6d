"""The iterator that reads a dataset in several processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

from ..dataset.base import Examples
from .serial_iterator import SerialIterator

__all__ = ["MultiprocessIterator"]

_dataset: Any = None  # in a worker process


def _set_dataset(dataset: Examples) -> None:
    global _dataset
    _dataset = dataset


def _example(index: int) -> Any:
    return _dataset[index]


class MultiprocessIterator(SerialIterator):
    """Batches whose examples are read by processes; see `SerialIterator`.

    Args:
        n_processes: number of processes; None for one a core.
        n_prefetch, shared_mem, dataset_timeout: have no effect on results and none here.
        maxtasksperchild: a process is replaced after so many examples.
    """

    def __init__(
        self,
        dataset: Examples,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_processes: int | None = None,
        n_prefetch: int = 1,
        shared_mem: int | None = None,
        order_sampler: Callable[..., Any] | None = None,
        dataset_timeout: float = 30.0,
        maxtasksperchild: int | None = None,
    ) -> None:
        self._pool: Any = None
        self.n_processes = n_processes or multiprocessing.cpu_count()
        self.n_prefetch = max(n_prefetch, 1)
        self.shared_mem = shared_mem
        self.dataset_timeout = dataset_timeout
        self._maxtasksperchild = maxtasksperchild
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def __next__(self) -> list[Any]:
        indices = self._next_indices()
        if self._pool is None:
            # forkserver: the parent has torch's threads, which a plain fork would leave in an undefined state
            context = multiprocessing.get_context("forkserver")
            self._pool = context.Pool(self.n_processes, _set_dataset, (self.dataset,), self._maxtasksperchild)
        return self._pool.map(_example, indices)

    def finalize(self) -> None:
        """Stop the processes."""
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.terminate()
            pool.join()
        self._pool = None
