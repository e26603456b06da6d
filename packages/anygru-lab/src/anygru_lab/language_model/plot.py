"""The picture of a loss curve."""

import os
import time

import numpy as np

from anygru.extend import open_for_replace

from .history import History

INK, GRAY, BLUE, ORANGE = "#222222", "#8a8a8a", "#2f6fb5", "#d9622b"
EVERY = 10.0  # seconds
DASHES = ((6, 3), (2, 2), (1, 4))
TICKS = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 7, 8)


class Picture:
    """The picture of a running training, redrawn at most every `EVERY` seconds because drawing takes as long as several steps."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._last = path, time.monotonic()

    def show(self, history: History, title: str) -> None:
        """Draw the curve unless it was drawn less than `EVERY` seconds ago."""
        if time.monotonic() - self._last >= EVERY:
            draw(self.path, history, {}, title)
            self._last = time.monotonic()


def draw(path: str | os.PathLike[str], history: History, references: dict[str, float], title: str) -> None:
    """Write a PNG with the loss of training and validation over the steps.

    Args:
        path: the picture's file.
        history: the measurements.
        references: up to three levels for comparison: name -> bits per byte.
        title: of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    figure = Figure(figsize=(9, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    training = np.array(history.training)
    steps = np.arange(1, len(training) + 1)
    axes.plot(steps, training, color=BLUE, alpha=0.22, linewidth=0.8)
    axes.plot(steps, _smooth(training), color=BLUE, linewidth=1.8, label="training")
    levels = [*_smooth(training), *references.values()]
    if history.held_out:
        at, bits = np.array(history.held_out).T
        best = int(bits.argmin())
        label = f"held-out documents, best {bits[best]:.3f}"
        axes.plot(at, bits, color=ORANGE, linewidth=1.8, marker="o", markersize=4, label=label)
        axes.plot(at[best], bits[best], color=ORANGE, marker="o", markersize=9, markerfacecolor="white", linestyle="")
        levels += bits.tolist()
    for (name, level), dashes in zip(references.items(), DASHES, strict=False):
        axes.axhline(level, color=GRAY, linewidth=1.1, linestyle=(0, dashes), label=f"{name}, {level:.3f}")
    axes.set_yscale("log")  # most of the run improves the loss by small amounts
    axes.set_ylim(0.93 * min(levels), min(1.05 * max(levels), 9))
    axes.set_yticks([tick for tick in TICKS if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]])
    axes.set_yticks([], minor=True)
    axes.set_xlim(0, 1.01 * len(training))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_xlabel("training step", color=INK)
    axes.set_ylabel("bits per byte", color=INK)
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, loc="upper right")
    with open_for_replace(path) as out:
        figure.savefig(out, format="png")


def _smooth(values: np.ndarray) -> np.ndarray:
    """Return the moving average over about a fiftieth of the run."""
    width = max(1, len(values) // 50)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    low = np.maximum(np.arange(len(values)) - width, 0)
    high = np.minimum(np.arange(len(values)) + width + 1, len(values))
    return (sums[high] - sums[low]) / (high - low)
