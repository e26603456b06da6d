"""`paddle.reader`: functions that make a reader (a function that gives an iterator of samples) of others."""

import itertools
import random
from collections.abc import Callable, Iterator
from multiprocessing.pool import ThreadPool
from typing import Any

__all__ = [
    "ComposeNotAligned", "buffered", "cache", "chain", "compose", "firstn", "map_readers", "multiprocess_reader", "shuffle",
    "xmap_readers",
]  # fmt: skip

Reader = Callable[[], Iterator[Any]]


class ComposeNotAligned(ValueError):
    """Readers that were to be read side by side have different lengths."""


def map_readers(func: Callable[..., Any], *readers: Reader) -> Reader:
    """A function of the samples of several readers."""
    return lambda: map(func, *(reader() for reader in readers))


def cache(reader: Reader) -> Reader:
    """A reader's samples, read once."""
    samples = tuple(reader())
    return lambda: iter(samples)


def buffered(reader: Reader, size: int) -> Reader:
    """Return the reader unchanged: reading ahead changes no sample."""
    return reader


def chain(*readers: Reader) -> Reader:
    """The readers in sequence."""
    return lambda: itertools.chain(*(reader() for reader in readers))


def compose(*readers: Reader, **kwargs: Any) -> Reader:
    """Readers side by side, the items of their samples in one tuple.

    Raises:
        ComposeNotAligned: from the reader, when one ends early, unless check_alignment=False.
    """
    aligned = kwargs.pop("check_alignment", True)

    def reader() -> Iterator[tuple[Any, ...]]:
        try:
            for row in zip(*(each() for each in readers), strict=aligned):
                yield tuple(itertools.chain(*(each if isinstance(each, tuple) else (each,) for each in row)))
        except ValueError as error:
            raise ComposeNotAligned("outputs of readers are not aligned.") from error

    return reader


def firstn(reader: Reader, n: int) -> Reader:
    """The first n samples."""
    return lambda: itertools.islice(reader(), n)


def shuffle(reader: Reader, buf_size: int) -> Reader:
    """Samples in another order, `buf_size` at a time, by Python's `random`."""

    def shuffled() -> Iterator[Any]:
        samples = iter(reader())
        while held := list(itertools.islice(samples, buf_size)):
            random.shuffle(held)
            yield from held

    return shuffled


def xmap_readers(
    mapper: Callable[[Any], Any], reader: Reader, process_num: int, buffer_size: int, order: bool = False
) -> Reader:
    """A function of a reader's samples, computed by threads; the order is kept either way."""

    def mapped() -> Iterator[Any]:
        with ThreadPool(process_num) as pool:
            yield from pool.imap(mapper, reader())

    return mapped


def multiprocess_reader(readers: list[Reader], use_pipe: bool = True, queue_size: int = 1000) -> Reader:
    """Several readers in turns, until all have ended."""

    def turns() -> Iterator[Any]:
        waiting = [iter(reader()) for reader in readers]
        while waiting:
            for samples in list(waiting):
                try:
                    yield next(samples)
                except StopIteration:
                    waiting.remove(samples)

    return turns
