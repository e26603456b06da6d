"""`paddle.fluid.io`: data loaders that are fed by generators, and the readers of `paddle.reader`."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from ..batch import batch as batch
from ..io import reader as current
from ..reader.decorator import buffered as buffered
from ..reader.decorator import cache as cache
from ..reader.decorator import chain as chain
from ..reader.decorator import compose as compose
from ..reader.decorator import firstn as firstn
from ..reader.decorator import map_readers as map_readers
from ..reader.decorator import multiprocess_reader as multiprocess_reader
from ..reader.decorator import shuffle as shuffle
from ..reader.decorator import xmap_readers as xmap_readers
from ..tensor.creation import to_tensor

Generator = Callable[[], Iterable[Any]]


class _GeneratorLoader:
    """Batches of a generator; `set_sample_generator` and similar methods set its source."""

    def __init__(self) -> None:
        self._batches: Callable[[], Iterator[list[torch.Tensor]]] | None = None

    def set_batch_generator(self, reader: Generator, places: Any = None) -> "_GeneratorLoader":
        """Read batches: a list of arrays or tensors each."""
        self._batches = lambda: (
            [each if isinstance(each, torch.Tensor) else to_tensor(each) for each in fields] for fields in reader()
        )
        return self

    def set_sample_list_generator(self, reader: Generator, places: Any = None) -> "_GeneratorLoader":
        """Read lists of samples, a tuple of fields each."""
        self._batches = lambda: (
            [to_tensor(np.array(field)) for field in zip(*samples, strict=True)] for samples in reader()
        )
        return self

    def set_sample_generator(
        self, reader: Generator, batch_size: int, drop_last: bool = True, places: Any = None
    ) -> "_GeneratorLoader":
        """Read samples, a tuple of fields each."""
        return self.set_sample_list_generator(batch(reader, batch_size, drop_last), places)  # type: ignore[arg-type]

    decorate_sample_generator, decorate_sample_list_generator = set_sample_generator, set_sample_list_generator
    decorate_batch_generator = set_batch_generator

    def __iter__(self) -> Iterator[list[torch.Tensor]]:
        if self._batches is None:
            raise AssertionError("Data source of DataLoader has not set yet")
        return self._batches()

    __call__ = __iter__


class DataLoader(current.DataLoader):
    """`paddle.io.DataLoader`, which can also be fed by a generator."""

    @staticmethod
    def from_generator(
        feed_list: Any = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> _GeneratorLoader:
        """A loader without a source yet; its batches are lists, as in every dynamic graph."""
        return _GeneratorLoader()


def PyReader(
    feed_list: Any = None,
    capacity: int | None = None,
    use_double_buffer: bool = True,
    iterable: bool = True,
    return_list: bool = False,
) -> _GeneratorLoader:
    """The older name of `DataLoader.from_generator`."""
    return _GeneratorLoader()
