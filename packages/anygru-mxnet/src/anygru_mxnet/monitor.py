"""`mx.mon.Monitor`: statistics of the values in executors, logged every few batches. Follows MXNet 1.9's `mxnet.monitor`."""

import logging
import re
from collections.abc import Callable
from math import sqrt
from typing import Any

from .executor import Executor
from .ndarray.ndarray import NDArray
from .ndarray.register import FUNCTIONS

Statistics = list[tuple[int, str, str]]


def _size(x: NDArray) -> NDArray:
    return FUNCTIONS["norm"](x) / sqrt(x.size)


class Monitor:
    """Statistics of the results of each operator of `forward`, and of arguments and auxiliary states.

    Operators that compute gradients are torch's and are not recorded.

    Args:
        interval: the number of batches between two records. stat_func: a function from an array to an array or a list of arrays;
            by default the norm divided by the root of the size. pattern: a regular expression for the beginning of names. sort:
            whether to sort the records by name. monitor_all: whether to record the inputs of operators.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval, self.stat_func, self.sort, self.monitor_all = interval, stat_func or _size, sort, monitor_all
        self.re_prog = re.compile(pattern)
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Executor] = []

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Record the statistic of a value, between `tic` and `toc`."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Observe one more executor."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Mark the begin of a batch."""
        if self.step % self.interval == 0:
            self.queue, self.activated = [], True
        self.step += 1

    def toc(self) -> Statistics:
        """Mark the end of a batch. Returns its number, names and statistics, or an empty list between intervals."""
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
        self.activated = False
        queue = sorted(self.queue, key=lambda row: row[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(found)) for step, name, found in queue]

    def toc_print(self) -> None:
        """Call `toc` and log its results."""
        for step, name, found in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, found)


def _text(found: NDArray | list[NDArray]) -> str:
    arrays = [found] if isinstance(found, NDArray) else found
    assert all(isinstance(array, NDArray) for array in arrays), "stat_func gives no NDArray"
    return "".join(f"{str(array.asscalar() if array.shape == (1,) else array.asnumpy())}\t" for array in arrays)
