"""The picture of a forecast: the last steps of some series, what was forecast for them, and the error of each model."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from anygru.errors import printable
from anygru.extend import names_of_any_script, open_for_replace

from .backtest import Forecast, Scaled, Scores
from .model import QUANTILES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, GRAY, BLUE = "#222222", "#8a8a8a", "#2f6fb5"
MOST_PANELS = 4


def draw(path: str | os.PathLike[str], data: Scaled, forecast: Forecast, scores: Mapping[str, Scores]) -> None:
    """Write a PNG: the held-out part of up to four series with the forecast from each origin, and a bar for each model."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [(n, c) for n in range(len(data.table.series)) for c in range(len(data.table.channels))][:MOST_PANELS]
    figure = Figure(figsize=(10, 2 * len(panels) + 1.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels) + 1, 1, squeeze=False)[:, 0]
    for place, (number, channel) in zip(axes, panels, strict=False):
        _panel(place, data, forecast, number, channel)
    axes[0].legend(frameon=False, loc="upper left", ncols=3, fontsize=8)
    bars = axes[-1]
    names = list(scores)[::-1]
    bars.barh(names, [scores[name].crps for name in names], color=[BLUE if name == "GRU" else GRAY for name in names])
    for row, name in enumerate(names):
        bars.text(scores[name].crps, row, f" {scores[name].crps:.3f}", va="center", fontsize=8, color=INK)
    bars.set_xlabel("CRPS in units of the seasonal naive error in training; lower is better", fontsize=8, color=INK)
    for place in axes:
        place.spines[["top", "right"]].set_visible(False)
        place.tick_params(labelsize=8)
    with open_for_replace(path) as out, names_of_any_script():
        figure.savefig(out, format="png")


def _panel(axes: "Axes", data: Scaled, forecast: Forecast, number: int, channel: int) -> None:
    series = data.table.series[number]
    first = data.first_origin(series) - 2 * data.season
    steps = np.arange(first, len(series))
    axes.plot(steps, series.values[first:, channel], color=INK, linewidth=1, label="held-out values")
    low, middle, high = (QUANTILES.index(level) for level in (0.1, 0.5, 0.9))
    for fold, origin in enumerate(data.origins(series)):
        quantiles = data.unscaled(series, forecast(number, data.values(series), origin))[:, channel]
        ahead = np.arange(origin, origin + data.horizon)
        labels = ("forecast", "80 % of its probability") if fold == 0 else (None, None)
        axes.plot(ahead, quantiles[:, middle], color=BLUE, linewidth=1.4, label=labels[0])
        axes.fill_between(
            ahead, quantiles[:, low], quantiles[:, high], color=BLUE, alpha=0.25, linewidth=0, label=labels[1]
        )
        axes.axvline(origin - 0.5, color=GRAY, linewidth=0.6, linestyle=(0, (2, 3)))
    title = printable(" ".join(filter(None, [series.name, data.table.channels[channel]])))
    axes.set_title(title, loc="left", fontsize=9, color=INK, parse_math=False)
    axes.set_xlim(first, len(series))
