"""The order in which an epoch visits the examples."""

from __future__ import annotations

from typing import Any

import numpy


class OrderSampler:
    """Gives the order of the next epoch."""

    def __call__(self, current_order: Any, current_position: int) -> Any:
        raise NotImplementedError


class ShuffleOrderSampler(OrderSampler):
    """A random order each epoch, from a RandomState or by default from NumPy's global generator."""

    def __init__(self, random_state: Any = None) -> None:
        self._random = random_state  # a module could not be pickled

    def __call__(self, current_order: Any, current_position: int) -> Any:
        return (self._random or numpy.random).permutation(len(current_order))
