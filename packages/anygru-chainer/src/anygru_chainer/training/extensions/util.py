"""Progress bars."""

import collections
import datetime
import sys
import time
from typing import Any, TextIO


class ProgressBar:
    """A few lines of text that are rewritten; subclass it and define `get_lines`."""

    def __init__(self, bar_length: int | None = None, out: TextIO | None = None) -> None:
        self._bar_length = 50 if bar_length is None else bar_length
        self._out = sys.stdout if out is None else out
        self._recent_timing: collections.deque[tuple[float, float, float]] = collections.deque([], maxlen=100)

    def update_speed(self, iteration: float, epoch_detail: float) -> tuple[float, float]:
        """Iterations and epochs in a second, over the last calls."""
        now = time.time()
        self._recent_timing.append((iteration, epoch_detail, now))
        old_iteration, old_epoch, then = self._recent_timing[0]
        if now == then:
            return float("inf"), float("inf")
        return (iteration - old_iteration) / (now - then), (epoch_detail - old_epoch) / (now - then)

    def bar(self, rate: float) -> str:
        """A bar of marks for a rate between 0 and 1."""
        n_marks = int(rate * self._bar_length)
        return f"[{'#' * n_marks}{'.' * (self._bar_length - n_marks)}] {rate:6.2%}"

    def remaining(self, seconds: float) -> str:
        """The line about speed and the time that is left."""
        speed = self._speed
        left = datetime.timedelta(seconds=seconds) if seconds < 1e9 else "unknown"
        return f"{speed:10.5g} iters/sec. Estimated time to finish: {left}.\n"

    _speed = 0.0

    def get_lines(self) -> list[str]:
        """The lines to show."""
        raise NotImplementedError

    def update(self) -> None:
        """Write the lines."""
        self._out.write("\033[J")
        lines = self.get_lines()
        self._out.writelines(lines)
        self._out.write(f"\033[{len(lines):d}A")
        self._flush()

    def close(self) -> None:
        """Erase the lines."""
        self._out.write("\033[J")
        self._flush()

    def _flush(self) -> None:
        if hasattr(self._out, "flush"):
            self._out.flush()


class IteratorProgressBar(ProgressBar):
    """The progress of an iterator through its dataset (TypeError if it lacks the attributes)."""

    def __init__(self, iterator: Any, bar_length: int | None = None, out: TextIO | None = None) -> None:
        if not (hasattr(iterator, "current_position") and hasattr(iterator, "epoch_detail")):
            raise TypeError(
                "Iterator must have the following attributes to enable a progress bar: current_position, epoch_detail"
            )
        self._iterator = iterator
        super().__init__(bar_length, out)

    def get_lines(self) -> list[str]:
        iterator = self._iterator
        rate = iterator.epoch_detail
        self._speed, epochs_per_second = self.update_speed(iterator.current_position, rate)
        left = (1.0 - rate) / epochs_per_second if epochs_per_second else float("inf")
        size = getattr(
            iterator, "_epoch_size", None
        )  # an attribute of SerialIterator and its subclasses (Chainer 7.8.1, read)
        of = f" / {size}" if size else ""
        return [
            f"validation {self.bar(rate)}\n",
            f"{iterator.current_position:10}{of} iterations\n",
            self.remaining(left),
        ]
