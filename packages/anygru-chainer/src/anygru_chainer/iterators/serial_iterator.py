"""The iterator that reads a dataset in this thread."""

from collections.abc import Callable
from typing import Any

import numpy

from ..dataset.base import Examples, Iterator
from ..serializer import AbstractSerializer
from .order import IteratorState, ShuffleOrderSampler, advance

__all__ = ["SerialIterator"]


class SerialIterator(Iterator):
    """Batches of a dataset, one after the other.

    Args:
        dataset: anything with `len` and indices.
        batch_size: examples in a batch.
        repeat: go on with the next epoch at the end; a batch may then reach into it. Otherwise stop there.
        shuffle: a new random order each epoch; by default yes.
        order_sampler: gives the orders instead (ValueError together with `shuffle`).
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

    @property
    def epoch(self) -> int:
        """Number of epochs done."""
        return self._state.epoch

    @property
    def is_new_epoch(self) -> bool:
        """Whether the last batch ended an epoch."""
        return self._state.is_new_epoch

    @property
    def epoch_detail(self) -> float:
        """Number of epochs done, with the fraction of the present one."""
        return self.epoch + self.current_position / self._epoch_size

    @property
    def previous_epoch_detail(self) -> float | None:
        """`epoch_detail` before the last batch; None before the first."""
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    @property
    def repeat(self) -> bool:
        """Whether it goes on with the next epoch."""
        return self._repeat

    @property
    def _epoch_size(self) -> int:
        return len(self.dataset) if self._state.order is None else len(self._state.order)

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
                # A file of an early release, or of MultithreadIterator.
                serializer("_order", order)
        self._state = IteratorState(position, epoch, is_new_epoch, order)
        try:
            self._previous_epoch_detail = serializer("previous_epoch_detail", self._previous_epoch_detail)
        except KeyError:  # a file of an early release
            guess = self.epoch + (self.current_position - self.batch_size) / self._epoch_size
            self._previous_epoch_detail = max(guess, 0.0) if self.epoch_detail > 0 else -1.0

    def reset(self) -> None:
        """Go back to the start."""
        order = None
        if self.order_sampler:
            order = self.order_sampler(numpy.arange(len(self.dataset)), 0)
        self._state = IteratorState(0, 0, False, order)
        self._previous_epoch_detail = -1.0
