"""The time that links take."""

import sys
import time
from typing import Any, ClassVar

from ..function_hooks.timer import print_table, summarize
from ..link_hook import LinkHook

__all__ = ["TimerHook"]


class TimerHook(LinkHook):
    """Notes the time of each link, as (name of the class, seconds) in `call_history`; inner links count in outer ones."""

    name = "TimerHook"
    table: ClassVar = {"sec": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

    def __init__(self) -> None:
        self.call_history: list[tuple[str, float]] = []
        self._running: list[float] = []
        self._outer_time = 0.0

    def forward_preprocess(self, args: Any) -> None:
        self._running.append(time.perf_counter())

    def forward_postprocess(self, args: Any) -> None:
        elapsed = time.perf_counter() - self._running.pop()
        if not self._running:
            self._outer_time += elapsed
        self.call_history.append((type(args.link).__name__, elapsed))

    def total_time(self) -> float:
        """Seconds spent in all links, inner ones counted once."""
        return self._outer_time

    def summary(self) -> dict[str, dict[str, Any]]:
        """Seconds ("elapsed_time") and number of calls ("occurrence") by class."""
        return summarize(self.call_history)

    def print_report(self, unit: str = "auto", file: Any = sys.stdout) -> None:
        """Print the summary as a table."""
        print_table("LinkName", self.summary(), unit, file)
