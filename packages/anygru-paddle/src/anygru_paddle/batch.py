"""`paddle.batch`: samples of a reader put together."""

from collections.abc import Callable, Iterator
from typing import TypeVar

__all__ = ["batch"]

Sample = TypeVar("Sample")


def batch(
    reader: Callable[[], Iterator[Sample]], batch_size: int, drop_last: bool = False
) -> Callable[[], Iterator[list[Sample]]]:
    """A reader of lists of `batch_size` samples; a shorter last list is kept unless `drop_last`.

    Raises:
        ValueError: for a batch size that is not above 0.
    """
    if int(batch_size) <= 0:
        raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")

    def batches() -> Iterator[list[Sample]]:
        gathered: list[Sample] = []
        for sample in reader():
            gathered.append(sample)
            if len(gathered) == int(batch_size):
                yield gathered
                gathered = []
        if gathered and not drop_last:
            yield gathered

    return batches
