"""Iterators over datasets."""

from grus.dialects import refuser
from grus.dialects.chainer.iterators.multiprocess_iterator import MultiprocessIterator
from grus.dialects.chainer.iterators.multithread_iterator import MultithreadIterator
from grus.dialects.chainer.iterators.order_samplers import OrderSampler, ShuffleOrderSampler
from grus.dialects.chainer.iterators.serial_iterator import SerialIterator

__all__ = ["MultiprocessIterator", "MultithreadIterator", "OrderSampler", "SerialIterator", "ShuffleOrderSampler"]
__getattr__ = refuser("chainer", "chainer.iterators", {"DaliIterator": "torch.utils.data.DataLoader"})
