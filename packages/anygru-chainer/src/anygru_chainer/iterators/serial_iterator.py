"""Iterators that read a dataset in this thread or in several threads, and the order of the examples."""

from collections.abc import Callable
from multiprocessing.pool import AsyncResult, ThreadPool
from typing import Any, NamedTuple

import numpy

from ..dataset import Examples, Iterator
from ..serializer import AbstractSerializer

__all__ = ["MultithreadIterator", "OrderSampler", "SerialIterator", "ShuffleOrderSampler"]


class IteratorState(NamedTuple):
    """Position in the epoch, number of epochs done, whether the last batch ended one, order of the epoch."""

    current_position: int
    epoch: int
    is_new_epoch: bool
    order: Any


def advance(
    state: IteratorState, batch_size: int, repeat: bool, order_sampler: Any, dataset_len: int
) -> tuple[IteratorState, Any]:
    """The next state, and the indices of the next batch (None at the end of an iterator that does not repeat).

    A batch that reaches the end of an epoch continues with the next epoch, for which an order is drawn, or ends there.
    """
    position, epoch, _, order = state
    if not repeat and epoch > 0:
        return state, None
    size = dataset_len if order is None else len(order)
    if repeat and size == 0:
        raise ValueError("Epoch size must be positive for an iterator that repeats.")
    parts = []
    end = position + batch_size
    is_new_epoch = False
    while end >= size:
        parts.append(_indices(order, position, size))
        if order is not None:
            new_order = order_sampler(order, position)
            if len(new_order) != len(order):
                raise ValueError("The size of order does not match the size of the previous order.")
            order = new_order
        epoch += 1
        is_new_epoch = True
        position = 0
        if not repeat:
            end = 0
            break
        end -= size
    parts.append(_indices(order, position, end))
    return IteratorState(end, epoch, is_new_epoch, order), numpy.concatenate(parts)


def _indices(order: numpy.ndarray | None, start: int, stop: int) -> Any:
    return numpy.arange(start, stop, dtype=numpy.intp) if order is None else order[start:stop]


class OrderSampler:
    """Gives the order of the next epoch."""

    def __call__(self, current_order: numpy.ndarray, current_position: int) -> Any:
        raise NotImplementedError


class ShuffleOrderSampler(OrderSampler):
    """A random order each epoch, from a RandomState or by default from NumPy's global generator."""

    def __init__(self, random_state: numpy.random.RandomState | None = None) -> None:
        self._random = random_state  # a module could not be pickled

    def __call__(self, current_order: numpy.ndarray, current_position: int) -> Any:
        return (self._random or numpy.random).permutation(len(current_order))


class SerialIterator(Iterator):
    """Batches of a dataset.

    Args:
        dataset: anything with `len` and indices.
        batch_size: examples in a batch.
        repeat: continue with the next epoch at the end; a batch may then contain examples of both. Otherwise stop.
        shuffle: a new random order in each epoch; by default True.
        order_sampler: returns the order of each epoch (ValueError together with `shuffle`).
    """

    _state: IteratorState
    _previous_epoch_detail: float

    def __init__(
        self,
        dataset: Examples,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        order_sampler: Callable[..., Any] | None = None,
    ) -> None:
        if shuffle is not None and order_sampler is not None:
            raise ValueError(
                "`shuffle` is not `None` and a custom `order_sampler` is set. Please set `shuffle` to `None` to use the "
                "custom order sampler."
            )
        self.dataset = dataset
        self.batch_size = batch_size
        self._repeat = repeat
        self._shuffle = shuffle
        if order_sampler is None and (shuffle is None or shuffle):
            order_sampler = ShuffleOrderSampler()
        self.order_sampler = order_sampler
        self.reset()

    def _next_indices(self) -> Any:
        self._previous_epoch_detail = self.epoch_detail
        self._state, indices = advance(
            self._state, self.batch_size, self._repeat, self.order_sampler, len(self.dataset)
        )
        if indices is None:
            raise StopIteration
        return indices

    def __next__(self) -> list[Any]:
        return [self.dataset[index] for index in self._next_indices()]

    @property
    def current_position(self) -> int:
        """Place of the next example in the epoch."""
        return self._state.current_position

    epoch = property(lambda self: self._state.epoch, doc="Number of epochs done.")
    is_new_epoch = property(lambda self: self._state.is_new_epoch, doc="Whether the last batch ended an epoch.")

    @property
    def epoch_detail(self) -> float:
        """Number of epochs done, with the fraction of the present one."""
        return self.epoch + self.current_position / self._epoch_size

    @property
    def previous_epoch_detail(self) -> float | None:
        """`epoch_detail` before the last batch; None before the first."""
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    repeat = property(lambda self: self._repeat, doc="Whether it continues with the next epoch.")
    _epoch_size = property(lambda self: len(self.dataset) if self._state.order is None else len(self._state.order))

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the position, the epoch and the order."""
        position = serializer("current_position", self.current_position)
        epoch = serializer("epoch", self.epoch)
        is_new_epoch = serializer("is_new_epoch", self.is_new_epoch)
        order = self._state.order
        if order is not None:
            try:
                serializer("order", order)
            except KeyError:
                # A file of an early release or of MultithreadIterator.
                serializer("_order", order)
        self._state = IteratorState(position, epoch, is_new_epoch, order)
        try:
            self._previous_epoch_detail = serializer("previous_epoch_detail", self._previous_epoch_detail)
        except KeyError:  # a file of an early release
            guess = self.epoch + (self.current_position - self.batch_size) / self._epoch_size
            self._previous_epoch_detail = max(guess, 0.0) if self.epoch_detail > 0 else -1.0

    def reset(self) -> None:
        """Restart from the first example."""
        order = None
        if self.order_sampler:
            order = self.order_sampler(numpy.arange(len(self.dataset)), 0)
        self._state = IteratorState(0, 0, False, order)
        self._previous_epoch_detail = -1.0


class MultithreadIterator(SerialIterator):
    """Batches with examples read by threads; see `SerialIterator`.

    A batch is read while the previous batch is used. A new order is drawn from NumPy's generator one batch earlier than
    by `SerialIterator`, and again if the state is saved or loaded in between (Chainer 7.8.1, recorded).

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
