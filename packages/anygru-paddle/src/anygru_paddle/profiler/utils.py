"""Kinds of events in a profile, and events that programs name."""

from enum import Enum
from types import TracebackType
from typing import Any

import torch

__all__ = ["RecordEvent", "SortedKeys", "SummaryView", "load_profiler_result"]

SortedKeys = Enum(
    "SortedKeys",
    ["CPUTotal", "CPUAvg", "CPUMax", "CPUMin", "GPUTotal", "GPUAvg", "GPUMax", "GPUMin"],
    start=0,
    module=__name__,
)
SummaryView = Enum(
    "SummaryView",
    [
        "DeviceView", "OverView", "ModelView", "DistributedView", "KernelView", "OperatorView", "MemoryView",
        "MemoryManipulationView", "UDFView",
    ],
    start=0,
    module=__name__,
)  # fmt: skip


class RecordEvent:
    """A named part of a program: `with RecordEvent("reading"):`, or `begin()` and `end()`."""

    def __init__(self, name: str, event_type: object = None) -> None:
        self.name = name
        self._event: Any = None

    def begin(self) -> None:
        """The part begins."""
        self._event = torch.profiler.record_function(self.name)
        self._event.__enter__()

    def end(self) -> None:
        """The part ends."""
        if self._event is not None:
            self._event.__exit__(None, None, None)
            self._event = None

    def __enter__(self) -> "RecordEvent":
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def load_profiler_result(filename: str) -> None:
    """Refused: a profile is a file for the browser's trace viewer, not Paddle's protocol buffer.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"load_profiler_result: {filename!r} is a trace in JSON; open it in chrome://tracing or Perfetto")
