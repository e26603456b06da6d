"""`Profiler`: when to record, timings of steps, and the record itself by `torch.profiler`."""

import os
import socket
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

__all__ = [
    "Profiler", "ProfilerState", "ProfilerTarget", "export_chrome_tracing", "export_protobuf", "make_scheduler",
]  # fmt: skip

ProfilerState = Enum("ProfilerState", ["CLOSED", "READY", "RECORD", "RECORD_AND_RETURN"], start=0, module=__name__)
ProfilerTarget = Enum("ProfilerTarget", ["CPU", "GPU", "XPU", "CUSTOM_DEVICE"], start=0, module=__name__)
_RECORDS = (ProfilerState["RECORD"], ProfilerState["RECORD_AND_RETURN"])


def make_scheduler(
    *, closed: int, ready: int, record: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerState]:
    """The state of each step: `skip_first` closed ones, then again and again `closed`, `ready` and `record` steps.

    `repeat` counts the rounds, 0 for no end.
    """
    span = closed + ready + record

    def state(step: int) -> ProfilerState:
        if step < 0:
            raise AssertionError("step must be at least 0")
        place, count = (step - skip_first) % span, (step - skip_first) // span
        if step < skip_first or (repeat > 0 and count >= repeat) or place < closed:
            return ProfilerState["CLOSED"]
        if place < closed + ready:
            return ProfilerState["READY"]
        return ProfilerState["RECORD_AND_RETURN" if place == span - 1 else "RECORD"]

    return state


def export_chrome_tracing(dir_name: str, worker_name: str | None = None) -> Callable[["Profiler"], None]:
    """A callback for `on_trace_ready`: write each record to a file in a folder, for the browser's trace viewer."""
    Path(dir_name).mkdir(parents=True, exist_ok=True)

    def write(profiler: "Profiler") -> None:
        name = worker_name or f"host_{socket.gethostname()}pid_{os.getpid()}"
        now = datetime.now().strftime("%Y_%m_%d_%H_%M_%S_%f")  # local time, as 2.6.2 names its files
        profiler.export(str(Path(dir_name) / f"{name}_time_{now}.paddle_trace.json"))

    return write


export_protobuf = export_chrome_tracing


class Profiler:
    """Times steps, and records the steps that the scheduler selects.

    Args:
        targets: kept for scripts; torch records the CPU, and CUDA if available.
        scheduler: the state of a step, from `make_scheduler`, or the pair (first, end) of steps to record; default: all.
        on_trace_ready: is called with the profiler when a record is complete.
        record_shapes, profile_memory: as torch's profiler has them.
        timer_only: time only.
        emit_nvtx, custom_device_types: kept for scripts.
        with_flops: as torch's profiler has it.
    """

    def __init__(
        self,
        *,
        targets: Iterable[Any] | None = None,
        scheduler: Any = None,
        on_trace_ready: Callable[["Profiler"], None] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        timer_only: bool = False,
        emit_nvtx: bool = False,
        custom_device_types: Iterable[str] = (),
        with_flops: bool = False,
    ) -> None:
        if isinstance(scheduler, (list, tuple)):
            first, end = scheduler
            scheduler = make_scheduler(closed=max(first - 1, 0), ready=int(first > 0), record=end - first, repeat=1)
        self._state = scheduler or (lambda step: ProfilerState["RECORD"])
        self._ready, self._timer_only = on_trace_ready, timer_only
        self._options: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_flops": with_flops,
        }
        self.step_num = 0
        self.profiler_result: Any = None
        self._recording: Any = None
        self._began = self._spent = 0.0
        self._samples = self._timed = 0

    def _follow(self) -> None:
        """Begin or end a record, as the state of this step asks for."""
        records = not self._timer_only and self._state(self.step_num) in _RECORDS
        if records and self._recording is None:
            self._recording = torch.profiler.profile(**self._options)
            self._recording.__enter__()
        elif not records:
            self._finish()

    def _finish(self) -> None:
        if self._recording is None:
            return
        self._recording.__exit__(None, None, None)
        self.profiler_result, self._recording = self._recording, None
        if self._ready is not None:
            self._ready(self)

    def start(self) -> None:
        """Begin with step 0."""
        self._began = time.perf_counter()
        self._follow()

    def step(self, num_samples: int | None = None) -> None:
        """A step ends and the next one begins; `num_samples` counts for `step_info`."""
        now = time.perf_counter()
        self._spent, self._began = self._spent + now - self._began, now
        self._timed, self._samples = self._timed + 1, self._samples + (num_samples or 0)
        self.step_num += 1
        if self._recording is not None and self._state(self.step_num - 1) is ProfilerState["RECORD_AND_RETURN"]:
            self._finish()
        self._follow()

    def step_info(self, unit: str | None = None) -> str:
        """The seconds per step since the last call, and the steps or samples per second."""
        if not self._timed:
            return ""
        cost, each = self._spent / self._timed, unit or ("samples" if self._samples else "steps")
        speed = (self._samples or self._timed) / self._spent if self._spent else 0.0
        self._spent, self._timed, self._samples = 0.0, 0, 0
        # Reading is not timed apart from the step; the text keeps Paddle's form.
        return f" reader_cost: 0.00000 s batch_cost: {cost:.5f} s ips: {speed:.5f} {each}/s"

    def stop(self) -> None:
        """End the record."""
        self._finish()

    def __enter__(self) -> "Profiler":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def export(self, path: str = "", format: str = "json") -> None:
        """Write the last record for the browser's trace viewer.

        Raises:
            ValueError: for another format, or without a record.
        """
        if format not in ("json", "pb"):
            raise ValueError(f"Profiler.export: format must be 'json', got {format!r}")
        if self.profiler_result is None:
            raise ValueError("Profiler.export: there is no record yet; call stop() first")
        self.profiler_result.export_chrome_trace(path)

    def summary(self, sorted_by: Any = None, op_detail: bool = True, thread_sep: bool = False, **_: Any) -> None:
        """Print a table of the operators in the last record; other arguments are kept for scripts."""
        if self.profiler_result is not None:
            print(self.profiler_result.key_averages().table(sort_by="cpu_time_total", row_limit=20))
