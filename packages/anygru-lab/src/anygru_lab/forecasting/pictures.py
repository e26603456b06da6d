"""Pictures of a forecast, as PNG: history, back-test and forecast on an axis of time; and the errors of the methods."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anygru.errors import printable
from anygru.extend import names_of_any_script

from .backtest import Scores
from .problem import HIGH, LOW, MIDDLE, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRAY, BLUE, ORANGE = "#222222", "#8a8a8a", "#2f6fb5", "#c7622b"
MOST_PANELS = 4
SHOWN = 2  # times the length of back-test and forecast are drawn,
LEAST_SHOWN = 6  # and as many horizons at least


def forecast(problem: Problem, parts: Sequence[tuple[int, int, np.ndarray]], used: str) -> bytes:
    """Draw up to four series with their forecasts.

    Args:
        problem: the series.
        parts: series, origin and quantiles [horizon, C, quantiles] of each forecast.
        used: the method's name.
    """
    return _png(figure(problem, parts, used))


def figure(problem: Problem, parts: Sequence[tuple[int, int, np.ndarray]], used: str) -> "Figure":
    """As `forecast`, as a figure of Matplotlib."""
    from matplotlib.figure import Figure

    table = problem.table
    tested = list(dict.fromkeys(number for number, _, _ in parts))
    panels = [(n, c) for n in tested for c in range(len(table.channels))][:MOST_PANELS]
    found = Figure(figsize=(10, 2.3 * len(panels) + 0.9), dpi=130, layout="constrained")
    axes = found.subplots(len(panels), 1, squeeze=False)[:, 0]
    for place, (number, channel) in zip(axes, panels, strict=True):
        _panel(place, problem, [part for part in parts if part[0] == number], number, channel)
    left_out = len(table.series) * len(table.channels) - len(panels)
    more = f"; {left_out:,} more in forecast.csv" if left_out else ""
    names = {name: mark for mark, name in zip(*axes[0].get_legend_handles_labels(), strict=True)}
    found.legend(names.values(), names, frameon=False, loc="outside upper right", ncols=4, fontsize=8)
    found.suptitle(f"forecast by: {used}{more}", fontsize=9, color=GRAY, x=0.01, ha="left")
    return found


def _panel(
    axes: "Axes", problem: Problem, parts: Sequence[tuple[int, int, np.ndarray]], number: int, channel: int
) -> None:
    series, clock, horizon = problem.table.series[number], problem.table.clock, problem.horizon
    first = max(0, len(series) - max(SHOWN * (problem.folds + 1), LEAST_SHOWN) * horizon)
    shown: Any = clock.local(series.times) if clock.dated else np.arange(len(series))
    axes.plot(shown[first:], series.values[first:, channel], color=INK, linewidth=1, label="values")
    later: Any = (
        clock.local(clock.later(series.times[-1], horizon)) if clock.dated else np.arange(horizon) + len(series)
    )
    seen: set[str] = set()
    for _, origin, quantiles in parts:
        ended = origin == len(series)
        color, name = (ORANGE, "forecast") if ended else (BLUE, "back-test")
        times = later if ended else shown[origin : origin + horizon]
        label, band = (name, "80 % band") if name not in seen else (None, None)
        seen.add(name)
        marker = "o" if horizon == 1 else None
        axes.plot(
            times, quantiles[:, channel, MIDDLE], color=color, linewidth=1.4, label=label, marker=marker, markersize=3
        )
        axes.fill_between(
            times, quantiles[:, channel, LOW], quantiles[:, channel, HIGH], color=color, alpha=0.25, linewidth=0,
            label=band if ended else None,
        )  # fmt: skip
        if not ended:
            axes.axvline(times[0], color=GRAY, linewidth=0.5, linestyle=(0, (2, 3)))
    _ticks(axes, clock.dated)
    title = printable(" ".join(filter(None, [series.name, problem.table.channels[channel]])))
    axes.set_title(title, loc="left", fontsize=9, color=INK, parse_math=False)
    axes.margins(x=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _ticks(axes: "Axes", dated: bool) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    if not dated:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("row", fontsize=8, color=INK)
        return
    locator = AutoDateLocator(minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.xaxis.get_offset_text().set_fontsize(8)


def scores(found: Mapping[str, Scores], used: str) -> bytes:
    """Draw the error and the CRPS of each method as bars, the best on top."""
    from matplotlib.figure import Figure

    names = sorted(found, key=lambda name: -found[name].error)
    picture = Figure(figsize=(10, 0.34 * len(names) + 1.2), dpi=130, layout="constrained")
    left, right = picture.subplots(1, 2, sharey=True)
    for axes, kind, title in ((left, "error", "error of the median (MASE)"), (right, "crps", "CRPS of the bands")):
        values = [float(getattr(found[name], kind)) for name in names]
        colors = [ORANGE if name == used else BLUE if name == "GRU" else GRAY for name in names]
        axes.barh(names, values, color=colors, height=0.7)
        for row, value in enumerate(values):
            axes.text(value, row, f" {value:.3f}", va="center", fontsize=8, color=INK)
        axes.set_title(f"{title}; lower is better", loc="left", fontsize=9, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.margins(x=0.15)
    return _png(picture)


def _png(figure: "Figure") -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = io.BytesIO()
    with names_of_any_script():
        figure.savefig(out, format="png")
    return out.getvalue()
