"""Batches of samples."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.reduction import ForkingPickler as ForkingPickler
from typing import Any

import numpy as np

from ... import ndarray
from ...context import cpu_pinned
from ...ndarray.ndarray import NDArray
from ...state import state
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_batchify_fn"]


def default_batchify_fn(data: list) -> Any:
    """An array of the samples. For tuples, a list with an array for each element."""
    if isinstance(data[0], NDArray):
        return ndarray.stack(*data)
    if isinstance(data[0], tuple):
        return [default_batchify_fn(list(column)) for column in zip(*data, strict=True)]
    # Python floats become float64, unlike in `nd.array`, which makes float32 (MXNet 1.9.1, observed).
    values = np.asarray(data)
    return ndarray.array(values, dtype=values.dtype)


# MXNet has another function for batches of worker processes. Threads make the batches here.
default_mp_batchify_fn = default_batchify_fn


class DataLoader:
    """Iterates over a dataset in batches.

    Args:
        dataset: the samples.
        batch_size: samples in a batch.
        shuffle: whether their order is random.
        sampler: their order.
        last_batch: "keep" an incomplete last batch, "discard" it, or add it to the next pass ("rollover").
        batch_sampler: gives the positions of each batch, and replaces the four arguments before it.
        batchify_fn: makes a batch of a list of samples.
        num_workers: the number of threads that prepare batches (processes in MXNet).
        pin_memory: put batches into a `cpu_pinned` context.
        pin_device_id: the number of that context.
        prefetch: the number of batches to prepare; twice `num_workers` by default.
        thread_pool, auto_reload: no effect.
        timeout: the longest wait for a batch of a worker, in seconds.

    Raises:
        ValueError: for arguments that exclude each other.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ) -> None:
        assert timeout > 0, f"timeout must be positive, given {timeout}"
        if batch_sampler is None:
            if batch_size is None:
                raise ValueError("batch_size must be specified unless batch_sampler is specified")
            if sampler is None:
                sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
            elif shuffle:
                raise ValueError("shuffle must not be specified if sampler is specified")
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is specified."
            )
        self._dataset = dataset
        self._batch_sampler = batch_sampler
        self._batchify_fn = default_batchify_fn if batchify_fn is None else batchify_fn
        self._num_workers = max(num_workers, 0)
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._pinned = cpu_pinned(pin_device_id) if pin_memory else None
        self._timeout, self._numpy = (
            timeout,
            state.numpy,
        )  # workers create the class of arrays of the caller, as in MXNet 1.9.1

    def _batch(self, places: list) -> Any:
        batch = self._batchify_fn([self._dataset[place] for place in places])
        return batch if self._pinned is None else _as_in_context(batch, self._pinned)

    def __iter__(self) -> Iterator[Any]:
        if self._num_workers == 0:
            for places in self._batch_sampler:
                yield self._batch(places)
            return
        with ThreadPoolExecutor(
            self._num_workers, initializer=setattr, initargs=(state, "numpy", self._numpy)
        ) as workers:
            waiting: list[Future] = []
            for places in self._batch_sampler:
                waiting.append(workers.submit(self._batch, places))
                if len(waiting) > max(self._prefetch, 1):
                    yield waiting.pop(0).result(self._timeout)
            for future in waiting:
                yield future.result(self._timeout)

    def __len__(self) -> int:
        return len(self._batch_sampler)


def _as_in_context(batch: Any, context: Any) -> Any:
    if isinstance(batch, NDArray):
        return batch.as_in_context(context)
    return [_as_in_context(part, context) for part in batch] if isinstance(batch, (list, tuple)) else batch
