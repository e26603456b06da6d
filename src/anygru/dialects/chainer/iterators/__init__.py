"""Iterators over datasets."""

from anygru.dialects import refuser

from ..iterators.multiprocess_iterator import MultiprocessIterator
from ..iterators.multithread_iterator import MultithreadIterator
from ..iterators.order_samplers import OrderSampler, ShuffleOrderSampler
from ..iterators.serial_iterator import SerialIterator

__all__ = ["MultiprocessIterator", "MultithreadIterator", "OrderSampler", "SerialIterator", "ShuffleOrderSampler"]
__getattr__ = refuser("chainer", "chainer.iterators", {"DaliIterator": "torch.utils.data.DataLoader"})
