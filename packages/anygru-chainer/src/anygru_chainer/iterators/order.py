"""Where an iterator is, what comes next, and the order in which an epoch visits the examples."""

from typing import Any, NamedTuple

import numpy

__all__ = [
    "OrderSampler",
    "ShuffleOrderSampler",
]


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

    A batch that reaches the end of an epoch goes on with the next one (whose order is sampled then), or ends there.
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
