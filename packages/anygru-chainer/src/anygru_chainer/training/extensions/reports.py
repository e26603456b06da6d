"""Extensions that log, print and plot the observed values."""

import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

from anygru import extend

from ...reporter import DictSummary
from ...serializer import AbstractSerializer, Serializer
from ...utils import argument
from ..extension import Extension
from ..triggers import TriggerSpec, get_trigger

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..trainer import Trainer

__all__ = ["LogReport", "PlotReport", "PrintReport"]


@cache
def _is_installed() -> bool:
    return find_spec("matplotlib") is not None


def available() -> bool:
    """Whether there is Matplotlib, with a warning if not (Chainer 7.8.1, `plot_report.py`, read)."""
    if not _is_installed():
        warnings.warn(
            "matplotlib is not installed on your environment, so nothing will be plotted at this time. Please install "
            "matplotlib to plot figures.\n\n  $ pip install matplotlib\n"
        )
    return _is_installed()


def new_figure(**options: Any) -> "Figure":
    """An empty figure for drawing into files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(**options)
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: "Figure", path: str, **options: Any) -> None:
    """Write a figure in the format that the file's ending names; as `savefig`, without an ending as `path`.png."""
    ending = os.path.splitext(path)[1]
    with extend.open_for_replace(path if ending else f"{path}.png") as file:
        figure.savefig(file, format=ending[1:] or "png", **options)


class LogReport(Extension):
    """Keeps the means of observed values, and writes them as JSON into the trainer's folder.

    Args:
        keys: names of the values; None for all.
        postprocess: function that may change an entry (a dictionary).
        filename: name of the file, in which "{epoch}" and the like are filled in; "log" by default (`log_name` is the
            same). None for no file.
    """

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        trigger: TriggerSpec = (1, "epoch"),
        postprocess: Callable[[dict[str, Any]], None] | None = None,
        filename: str | None = None,
        **kwargs: Any,
    ) -> None:
        (log_name,) = argument.parse_kwargs(kwargs, ("log_name", "log"))
        self._keys = keys
        self._trigger = get_trigger(trigger)
        self._postprocess = postprocess
        self._log_name = log_name if filename is None else filename
        self._log: list[dict[str, Any]] = []
        self._init_summary()

    def __call__(self, trainer: "Trainer") -> None:
        observed = trainer.observation
        if self._keys is not None:
            observed = {key: observed[key] for key in self._keys if key in observed}
        self._summary.add(observed)
        if not (trainer.is_before_training or self._trigger(trainer)):
            return
        entry: dict[str, Any] = {name: float(value) for name, value in self._summary.compute_mean().items()}
        entry["epoch"] = trainer.updater.epoch
        entry["iteration"] = trainer.updater.iteration
        entry["elapsed_time"] = trainer.elapsed_time
        if self._postprocess is not None:
            self._postprocess(entry)
        self._log.append(entry)
        self._init_summary()
        if self._log_name is not None:
            path = os.path.join(trainer.out, self._log_name.format(**entry))
            with extend.open_for_replace(path) as file:
                file.write(json.dumps(self._log, indent=4).encode())

    log = property(lambda self: self._log, doc="The entries so far.")

    def _init_summary(self) -> None:
        self._summary = DictSummary()

    def serialize(self, serializer: AbstractSerializer) -> None:
        if hasattr(self._trigger, "serialize"):
            self._trigger.serialize(serializer["_trigger"])
        try:
            self._summary.serialize(serializer["_summary"])
        except KeyError:
            warnings.warn("The statistics are not saved.")
        if isinstance(serializer, Serializer):
            serializer("_log", json.dumps(self._log))
        else:
            self._log = json.loads(serializer("_log", ""))


class PrintReport(Extension):
    """Prints entries of a LogReport as a table.

    Args:
        entries: names of the columns.
        log_report: the LogReport (which is then called from here), or its name.
        out: stream to write to.
    """

    def __init__(self, entries: Sequence[str], log_report: Any = "LogReport", out: TextIO = sys.stdout) -> None:
        self._entries = entries
        self._log_report = log_report
        self._out = out
        self._log_len = 0
        self._widths = [max(10, len(name)) for name in entries]
        self._has_header = False

    def __call__(self, trainer: "Trainer") -> None:
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
            self._out.write("\033[J")  # erase the lines of a progress bar
            self._print(entry)
        self._log_len = len(report.log)

    def _print(self, entry: dict[str, Any]) -> None:
        for name, width in zip(self._entries, self._widths, strict=True):
            self._out.write(f"{entry[name]:<{width}g}  " if name in entry else " " * (width + 2))
        self._out.write("\n")
        if hasattr(self._out, "flush"):
            self._out.flush()

    def serialize(self, serializer: AbstractSerializer) -> None:
        if isinstance(self._log_report, LogReport):
            self._log_report.serialize(serializer["_log_report"])


class PlotReport(Extension):
    """Plots the means of observed values into the trainer's folder.

    Args:
        y_keys: name or names of the values.
        x_key: the horizontal axis: "iteration", "epoch" or the name of a value.
        trigger: when a point is added and the plot is written.
        postprocess: function (figure, axes, summary) called before the plot is written.
        filename: name of the file, "plot.png" by default (`file_name` is the same).
        marker: matplotlib's marker of a point.
        grid: draw a grid.
    """

    def __init__(
        self,
        y_keys: str | Sequence[str],
        x_key: str = "iteration",
        trigger: TriggerSpec = (1, "epoch"),
        postprocess: Callable[[Any, Any, Any], None] | None = None,
        filename: str | None = None,
        marker: str = "x",
        grid: bool = True,
        **kwargs: Any,
    ) -> None:
        (file_name,) = argument.parse_kwargs(kwargs, ("file_name", "plot.png"))
        available()
        self._y_keys = (y_keys,) if isinstance(y_keys, str) else tuple(y_keys)
        self._x_key = x_key
        self._trigger = get_trigger(trigger)
        self._postprocess = postprocess
        self._file_name = file_name if filename is None else filename
        self._marker = marker
        self._grid = grid
        self._data: dict[str, list[Any]] = {key: [] for key in self._y_keys}
        self._init_summary()

    available = staticmethod(available)

    def __call__(self, trainer: "Trainer") -> None:
        if not available():
            return
        observed = trainer.observation
        self._summary.add({key: observed[key] for key in self._y_keys if key in observed})
        if not (trainer.is_before_training or self._trigger(trainer)):
            return
        means: dict[str, Any] = {name: float(value) for name, value in self._summary.compute_mean().items()}
        means["epoch"] = trainer.updater.epoch
        means["iteration"] = trainer.updater.iteration
        for key in self._y_keys:
            if key in means:
                self._data[key].append((means[self._x_key], means[key]))
        self._plot(os.path.join(trainer.out, self._file_name))
        self._init_summary()

    def _plot(self, path: str) -> None:
        figure = new_figure()
        axes = figure.add_subplot(111)
        axes.set_xlabel(self._x_key)
        if self._grid:
            axes.grid()
        for key, points in self._data.items():
            if points:
                axes.plot([x for x, _ in points], [y for _, y in points], marker=self._marker, label=key)
        if axes.has_data():
            if self._postprocess is not None:
                self._postprocess(figure, axes, self._summary)
            legend = axes.legend(bbox_to_anchor=(1.05, 1), loc=2, borderaxespad=0.0)
            save_figure(figure, path, bbox_extra_artists=(legend,), bbox_inches="tight")

    def _init_summary(self) -> None:
        self._summary = DictSummary()

    def serialize(self, serializer: AbstractSerializer) -> None:
        name = f"_plot_{self._file_name}"
        if isinstance(serializer, Serializer):
            serializer(name, json.dumps(self._data))
        else:
            self._data = json.loads(serializer(name, ""))
