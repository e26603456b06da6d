"""Hooks that measure the time of functions or print their inputs."""

import sys
import time
from typing import Any, ClassVar

from . import backend
from .function_hook import FunctionHook
from .types import NdArray
from .variable import Variable

__all__ = ["PrintHook", "TimerHook"]


class Stopwatch:
    """Measures runs, which may be nested, as (name, seconds) in `call_history`."""

    title = "FunctionName"
    """The heading of the table's first column."""
    table: ClassVar = {"sec": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

    def __init__(self) -> None:
        self.call_history: list[tuple[str, float]] = []
        self._running: list[float] = []
        self._total_time = 0.0

    def _begin(self) -> None:
        self._running.append(time.perf_counter())

    def _end(self, name: str) -> None:
        elapsed = time.perf_counter() - self._running.pop()
        if not self._running:
            self._total_time += elapsed
        self.call_history.append((name, elapsed))

    def total_time(self) -> float:
        """Total seconds; nested calls count once."""
        return self._total_time

    def summary(self) -> dict[str, dict[str, Any]]:
        """Seconds ("elapsed_time") and number of runs ("occurrence") by name."""
        summary: dict[str, dict[str, Any]] = {}
        for name, elapsed in self.call_history:
            record = summary.setdefault(name, {"elapsed_time": 0.0, "occurrence": 0})
            record["elapsed_time"] += elapsed
            record["occurrence"] += 1
        return summary

    def print_report(self, unit: str = "auto", file: Any = sys.stdout) -> None:
        """Print the summary as a table."""
        print_table(self.title, self.summary(), unit, file)


class TimerHook(Stopwatch, FunctionHook):
    """Measures each function, forward and backward, as (name, seconds) in `call_history`."""

    name = "TimerHook"

    def forward_preprocess(self, function: Any, in_data: tuple[NdArray, ...]) -> None:
        self._begin()

    def backward_preprocess(self, function: Any, in_data: tuple[NdArray, ...], out_grad: tuple[NdArray, ...]) -> None:
        self._begin()

    def forward_postprocess(self, function: Any, in_data: tuple[NdArray, ...]) -> None:
        self._end(function._impl_name)

    def backward_postprocess(self, function: Any, in_data: tuple[NdArray, ...], out_grad: tuple[NdArray, ...]) -> None:
        self._end(function._impl_name)


_FACTORS = Stopwatch.table


def print_table(title: str, summary: dict[str, dict[str, Any]], unit: str, file: Any) -> None:
    """Print name, time and number of runs, one line each.

    Args:
        unit: "sec", "ms", "us", "ns", "auto" (one for all) or "auto_foreach" (one for each line); KeyError otherwise.
    """
    if unit not in (*_FACTORS, "auto", "auto_foreach"):
        raise KeyError(f"`unit` must be one of 'auto', 'auto_foreach', 'sec', 'ms', 'us', 'ns', got {unit!r}")
    times = [record["elapsed_time"] for record in summary.values()]
    common = _choose(max(times, default=0.0)) if unit == "auto" else unit
    rows = [(title, "ElapsedTime", "Occurrence")]
    for name, record in summary.items():
        own = _choose(record["elapsed_time"]) if unit == "auto_foreach" else common
        rows.append((name, f"{record['elapsed_time'] * _FACTORS[own]:3.2f}{own}", str(record["occurrence"])))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows:
        file.write("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + "\n")
    if hasattr(file, "flush"):
        file.flush()


def _choose(seconds: float) -> str:
    return next((unit for unit, factor in _FACTORS.items() if seconds * factor >= 1), "ns")


class PrintHook(FunctionHook):
    """Prints the inputs of each function before it runs, forward and backward.

    Args:
        sep, end, file, flush: as in `print`.
    """

    name = "PrintHook"

    def __init__(self, sep: Any = None, end: str = "\n", file: Any = None, flush: bool = True) -> None:
        self.sep = sep
        self.end = end
        self.file = sys.stdout if file is None else file
        self.flush = flush

    def _print(self, text: str) -> None:
        print(text, sep=self.sep, end=self.end, file=self.file, flush=self.flush)

    def _show(self, in_data: tuple[NdArray, ...]) -> None:
        self._print("input data")
        for array in in_data:
            self._print("(removed)" if array is None else Variable(array).debug_print())

    def forward_preprocess(self, function: Any, in_data: tuple[NdArray, ...]) -> None:
        self._print(f"function\t{function.label}")
        self._show(in_data)

    def backward_preprocess(self, function: Any, in_data: tuple[NdArray, ...], out_grad: tuple[NdArray, ...]) -> None:
        self.forward_preprocess(function, in_data)
        self._print("output gradient")
        for gradient in out_grad:
            zeros = None if gradient is None else backend.get_array_module(gradient).zeros_like(gradient)
            shown = Variable(zeros, grad=gradient)
            self._print(shown.debug_print())
