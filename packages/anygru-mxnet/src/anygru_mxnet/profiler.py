"""`mx.profiler`: times of operators from torch's profiler, with torch's names. Follows MXNet 1.9's `mxnet.profiler`."""

import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch

from .base import MXNetError

_OPTIONS = {
    "filename", "profile_all", "profile_symbolic", "profile_imperative", "profile_memory", "profile_api", "profile_process",
    "continuous_dump", "dump_period", "aggregate_stats", "gpu_memory_profile_filename_prefix",
}  # fmt: skip
_config: dict[str, Any] = {"filename": "profile.json"}
_spans: list[tuple[str, str, float, float]] = []  # category, name, begin and length in microseconds
_running: Any = None
_SORTS: dict[str, Callable[[list[float]], float]] = {
    "total": sum, "avg": lambda times: sum(times) / len(times), "min": min, "max": max, "count": len,
}  # fmt: skip


def set_config(**kwargs: Any) -> None:
    """Set options: `dump` writes to `filename`, `dumps` requires `aggregate_stats`. Other options have no effect.

    Raises:
        MXNetError: for an option that MXNet does not have.
    """
    for key in kwargs:
        if key not in _OPTIONS:
            raise MXNetError(f"Cannot find argument '{key}', Possible Arguments: {', '.join(sorted(_OPTIONS))}")
    _config.update(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start ("run") or stop ("stop") the profiler."""
    global _running
    begin = {"stop": False, "run": True}[state]
    if begin and _running is None:
        _running = torch.profiler.profile()
        _running.__enter__()
    elif not begin and _running is not None:
        _running.__exit__(None, None, None)
        events = [event for event in _running.events() if event.cpu_parent is None]
        _spans.extend(("operator", e.name, e.time_range.start, e.time_range.elapsed_us()) for e in events)
        _running = None


def pause(profile_process: str = "worker") -> None:
    """Suspend the profiler."""
    set_state("stop")


def resume(profile_process: str = "worker") -> None:
    """Continue after `pause`."""
    set_state("run")


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Stop the profiler and write the record to the file of `set_config`, for the browser's trace viewer."""
    set_state("stop")
    events = [
        {"ph": "X", "pid": 0, "tid": 0, "cat": category, "name": name, "ts": begin, "dur": length}
        for category, name, begin, length in _spans
    ]
    with open(_config["filename"], "w") as file:
        json.dump({"displayTimeUnit": "ms", "traceEvents": events}, file)


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """The count and the milliseconds of each recorded name, as a table or as JSON. `reset` clears the record.

    Raises:
        MXNetError: unless `set_config(aggregate_stats=True)` was called.
    """
    assert format in ("table", "json"), f"Invalid value provided for format: {format}. Support: 'table', 'json'"
    assert sort_by in _SORTS, f"Invalid value provided for sort_by: {sort_by}. Support: {', '.join(_SORTS)}"
    if not _config.get("aggregate_stats"):
        raise MXNetError("profiler.dumps: call set_config(aggregate_stats=True) first")
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for category, name, _, length in _spans:
        groups[category][name].append(length / 1000)
    if reset:
        _spans.clear()
    columns = {name.capitalize(): _SORTS[name] for name in ("count", "total", "min", "max", "avg")}
    found: dict[str, dict[str, dict[str, Any]]] = {
        category: {
            name: {column: round(of(times), 4) for column, of in columns.items()}
            for name, times in sorted(names.items(), key=lambda row: _SORTS[sort_by](row[1]), reverse=not ascending)
        }
        for category, names in sorted(groups.items())
    }
    if format == "json":
        return json.dumps({"Time": found, "Unit": {"Time": "ms"}}, indent=4)
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    heads = ["Total Count", *(f"{kind}Time (ms)" for kind in ("", "Min ", "Max ", "Avg "))]
    for category, names in found.items():
        lines += [category, "=" * 17, f"{'Name':<25}" + "".join(f"{head:>17}" for head in heads)]
        lines += [f"{'----':<25}" + "".join(f"{'-' * len(head):>17}" for head in heads)]
        for name, row in names.items():
            lines += [f"{name:<25}{row['Count']:>17}" + "".join(f"{row[key]:>17.4f}" for key in list(row)[1:])]
        lines += [""]
    return "\n".join([*lines, ""])


def _warn_deprecated(name: str) -> None:
    warnings.warn(f"profiler.{name}() is deprecated. Please use the names without it instead", stacklevel=3)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """The old name of `set_config`."""
    _warn_deprecated("profiler_set_config")
    set_config(**{f"profile_{mode}": True}, filename=filename)


def profiler_set_state(state: str = "stop") -> None:
    """The old name of `set_state`."""
    _warn_deprecated("profiler_set_state")
    set_state(state)


def dump_profile() -> None:
    """The old name of `dump`."""
    _warn_deprecated("dump_profile")
    dump()


class Event:
    """A part of a program between `start` and `stop`, which is timed while the profiler runs."""

    _category = "event"

    def __init__(self, name: str) -> None:
        self.name, self._began = name, 0

    def start(self) -> None:
        """It begins."""
        self._began = time.time_ns()

    def stop(self) -> None:
        """It ends."""
        if _running is not None:
            _spans.append((self._category, self.name, self._began / 1000, (time.time_ns() - self._began) / 1000))

    def __str__(self) -> str:
        return self.name


class Task(Event):
    """An event of a domain."""

    def __init__(self, domain: "Domain", name: str) -> None:
        super().__init__(name)
        self._category = domain.name


class Frame(Event):
    """A repeated event of a domain."""

    def __init__(self, domain: "Domain", name: str) -> None:
        super().__init__(name)
        self._category = f"{domain.name},frame"


class Counter:
    """A number that changes. Records do not contain it."""

    def __init__(self, domain: "Domain", name: str, value: int | None = None) -> None:
        self.name, self._value = name, value or 0

    def set_value(self, value: int) -> None:
        """Set the value."""
        self._value = int(value)

    def increment(self, delta: int = 1) -> None:
        """Add."""
        self._value += int(delta)

    def decrement(self, delta: int = 1) -> None:
        """Subtract."""
        self._value -= int(delta)

    def __iadd__(self, delta: int) -> "Counter":
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> "Counter":
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """An instant in the record."""

    def __init__(self, domain: "Domain", name: str) -> None:
        self.name, self.domain = name, domain

    def mark(self, scope: str = "process") -> None:
        """Record the present instant."""
        event = Frame(self.domain, self.name)
        event._category = f"{self.domain.name},instant_marker"
        event.start()
        event.stop()


class Domain:
    """A name for several tasks, frames, counters and markers."""

    def __init__(self, name: str) -> None:
        self.name = name

    def new_task(self, name: str) -> Task:
        """A Task."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A Frame."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """A Counter."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A Marker."""
        return Marker(self, name)

    def __str__(self) -> str:
        return self.name
