"""Plots of a training."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from ...reporter import DictSummary
from ...serializer import Serializer
from ...training.extension import Extension
from ...training.util import get_trigger
from ...utils import argument


class PlotReport(Extension):
    """Plots the means of observed values into the trainer's folder.

    Args:
        y_keys: name or names of the values.
        x_key: what they are plotted over: "iteration", "epoch" or the name of a value.
        trigger: when a point is added and the plot is written.
        postprocess: function (figure, axes, summary) called before the plot is written.
        filename: name of the file, "plot.png" by default (`file_name` is the same).
        marker: matplotlib's marker of a point.
        grid: draw a grid.
    """

    def __init__(
        self,
        y_keys: Any,
        x_key: str = "iteration",
        trigger: Any = (1, "epoch"),
        postprocess: Callable[[Any, Any, Any], None] | None = None,
        filename: str | None = None,
        marker: str = "x",
        grid: bool = True,
        **kwargs: Any,
    ) -> None:
        (file_name,) = argument.parse_kwargs(kwargs, ("file_name", "plot.png"))
        self._y_keys = (y_keys,) if isinstance(y_keys, str) else tuple(y_keys)
        self._x_key = x_key
        self._trigger = get_trigger(trigger)
        self._postprocess = postprocess
        self._file_name = file_name if filename is None else filename
        self._marker = marker
        self._grid = grid
        self._data: dict[str, list[Any]] = {key: [] for key in self._y_keys}
        self._summary = DictSummary()

    @staticmethod
    def available() -> bool:
        """Whether matplotlib is there: it is, since anygru depends on it."""
        return True

    def __call__(self, trainer: Any) -> None:
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
        self._summary = DictSummary()

    def _plot(self, path: str) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure()
        FigureCanvasAgg(figure)
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
            figure.savefig(path, bbox_extra_artists=(legend,), bbox_inches="tight")

    def serialize(self, serializer: Any) -> None:
        name = f"_plot_{self._file_name}"
        if isinstance(serializer, Serializer):
            serializer(name, json.dumps(self._data))
        else:
            self._data = json.loads(serializer(name, ""))
