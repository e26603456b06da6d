"""`gluon.contrib.data.IntervalSampler`."""

from collections.abc import Iterator

from ...data.sampler import Sampler

__all__ = ["IntervalSampler"]


class IntervalSampler(Sampler):
    """0, interval, 2 interval, ..., then 1, 1 + interval, ... unless `rollover` is False."""

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        assert interval <= length, f"Interval {interval} must be smaller than or equal to length {length}"
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for begin in range(self._interval if self._rollover else 1):
            yield from range(begin, self._length, self._interval)

    def __len__(self) -> int:
        return self._length  # also without `rollover` (MXNet 1.9.1, recorded)
