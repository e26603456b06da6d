"""The iterator that reads a dataset in several threads."""

from collections.abc import Callable
from multiprocessing.pool import AsyncResult, ThreadPool
from typing import Any

from ..dataset.base import Examples
from ..serializer import AbstractSerializer
from .order import IteratorState, advance
from .order import ShuffleOrderSampler as ShuffleOrderSampler
from .serial_iterator import SerialIterator

__all__ = ["MultithreadIterator"]


class MultithreadIterator(SerialIterator):
    """Batches whose examples are read by threads; see `SerialIterator`.

    A batch is read while the one before is used, so that a new order is drawn from NumPy's generator one batch earlier
    than by `SerialIterator`, and once more if the state is saved or loaded in between (Chainer 7.8.1, recorded).

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
        self._pool: ThreadPool | None = None
        self._ahead: tuple[IteratorState, AsyncResult[Any] | None] | None = None
        self.n_threads = n_threads
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def _read_ahead(self) -> tuple[IteratorState, AsyncResult[Any] | None]:
        """The state after the next batch, and its examples, which the threads read; None at the end."""
        state, indices = advance(self._state, self.batch_size, self._repeat, self.order_sampler, len(self.dataset))
        if indices is None:
            return state, None
        if self._pool is None:
            self._pool = ThreadPool(self.n_threads)
        return state, self._pool.map_async(self.dataset.__getitem__, indices)

    def __next__(self) -> list[Any]:
        state, examples = self._ahead or self._read_ahead()
        self._previous_epoch_detail = self.epoch_detail
        self._state, self._ahead = state, None
        if examples is None:
            raise StopIteration
        batch = examples.get()
        self._ahead = self._read_ahead()
        return batch

    def reset(self) -> None:
        super().reset()
        self._ahead = None

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the position, the epoch and the order, which this iterator's files call `_order`."""
        position = serializer("current_position", self.current_position)
        epoch = serializer("epoch", self.epoch)
        is_new_epoch = serializer("is_new_epoch", self.is_new_epoch)
        self._state = IteratorState(position, epoch, is_new_epoch, serializer("_order", self._state.order))
        before = serializer("previous_epoch_detail", self._previous_epoch_detail)
        self._previous_epoch_detail = -1.0 if before is None else before
        self._ahead = None

    def finalize(self) -> None:
        """Stop the threads."""
        self._ahead = None
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.terminate()
        self._pool = None
