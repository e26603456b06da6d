"""The iterator that reads a dataset in several threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..dataset.base import Examples
from .serial_iterator import SerialIterator

__all__ = ["MultithreadIterator"]


class MultithreadIterator(SerialIterator):
    """Batches whose examples are read by threads; see `SerialIterator`.

    Args:
        n_threads: number of threads.
    """

    def __init__(
        self,
        dataset: Examples,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_threads: int = 1,
        order_sampler: Callable[..., Any] | None = None,
    ) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self.n_threads = n_threads
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def __next__(self) -> list[Any]:
        indices = self._next_indices()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return list(self._pool.map(self.dataset.__getitem__, indices))

    def finalize(self) -> None:
        """Stop the threads."""
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.shutdown(wait=False)
        self._pool = None
