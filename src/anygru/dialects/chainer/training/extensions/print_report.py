"""The log on the screen."""

from __future__ import annotations

import sys
from typing import Any

from ...training.extension import Extension
from ...training.extensions.log_report import LogReport


class PrintReport(Extension):
    """Prints entries of a LogReport as a table.

    Args:
        entries: names of the columns.
        log_report: the LogReport (which is then called from here), or its name.
        out: stream to write to.
    """

    def __init__(self, entries: Any, log_report: Any = "LogReport", out: Any = sys.stdout) -> None:
        self._entries = entries
        self._log_report = log_report
        self._out = out
        self._log_len = 0
        self._widths = [max(10, len(name)) for name in entries]
        self._has_header = False

    def __call__(self, trainer: Any) -> None:
        if not self._has_header:
            names = (f"{name:{width}}" for name, width in zip(self._entries, self._widths, strict=True))
            self._out.write("  ".join(names) + "\n")
            self._has_header = True
        report = self._log_report
        if isinstance(report, str):
            report = trainer.get_extension(report)
        elif isinstance(report, LogReport):
            report(trainer)
        else:
            raise TypeError(f"log report has a wrong type {type(report)}")
        for entry in report.log[self._log_len :]:
            self._out.write("\033[J")  # erase what a progress bar has left below
            self._print(entry)
        self._log_len = len(report.log)

    def _print(self, entry: dict[str, Any]) -> None:
        for name, width in zip(self._entries, self._widths, strict=True):
            self._out.write(f"{entry[name]:<{width}g}  " if name in entry else " " * (width + 2))
        self._out.write("\n")
        if hasattr(self._out, "flush"):
            self._out.flush()

    def serialize(self, serializer: Any) -> None:
        if isinstance(self._log_report, LogReport):
            self._log_report.serialize(serializer["_log_report"])
