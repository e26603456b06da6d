"""Orders of samples."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """An order: iterated, it gives positions."""

    def __iter__(self) -> Iterator:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """start, start + 1, ..."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All positions in random order, by NumPy's generator, as in MXNet."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        order = np.arange(self._length)
        np.random.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The positions of samples for which a function is true."""

    def __init__(self, fn: Callable[[Any], bool], dataset: Any) -> None:
        self._indices = [place for place, sample in enumerate(dataset) if fn(sample)]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Positions in batches.

    Args:
        sampler: the order.
        batch_size: positions in a batch.
        last_batch: "keep" a shorter last batch, "discard" it, or let it "rollover" into the next round.
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep") -> None:
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._rest: list = []

    def _refuse(self) -> ValueError:
        return ValueError(f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {self._last_batch}")

    def __iter__(self) -> Iterator[list]:
        batch, self._rest = self._rest, []
        for place in self._sampler:
            batch.append(place)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if not batch:
            return
        if self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._rest = batch
        # A wrong name is found out here, as in MXNet 1.9.1 (its source), not by the constructor.
        elif self._last_batch != "discard":
            raise self._refuse()

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        if self._last_batch == "discard":
            return count // self._batch_size
        if self._last_batch == "rollover":
            return (len(self._rest) + count) // self._batch_size
        raise self._refuse()
