"""Iterators over datasets."""

from ..iterators.multiprocess_iterator import MultiprocessIterator
from ..iterators.multithread_iterator import MultithreadIterator
from ..iterators.order_samplers import OrderSampler, ShuffleOrderSampler
from ..iterators.serial_iterator import SerialIterator

__all__ = ["MultiprocessIterator", "MultithreadIterator", "OrderSampler", "SerialIterator", "ShuffleOrderSampler"]
