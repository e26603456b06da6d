"""The picture of a loss curve."""

import os

import numpy as np

from ...checkpoints.atomic import open_for_replace
from .session import History

INK, GRAY, BLUE, ORANGE = "#222222", "#8a8a8a", "#2f6fb5", "#d9622b"


def draw(path: str | os.PathLike[str], history: History, references: dict[str, float], title: str) -> None:
    """Write a PNG with the loss of training and validation over the steps.

    Args:
        path: the picture's file.
        history: what was measured.
        references: levels to compare with, in bits per byte, by name.
        title: in the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    figure = Figure(figsize=(9, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    training = np.array(history.training)
    steps = np.arange(1, len(training) + 1)
    axes.plot(steps, training, color=BLUE, alpha=0.22, linewidth=0.8)
    axes.plot(steps, _smooth(training), color=BLUE, linewidth=1.8, label="training")
    last = len(training)
    if history.held_out:
        at, bits = np.array(history.held_out).T
        axes.plot(at, bits, color=ORANGE, linewidth=1.8, marker="o", markersize=4.5, label="held-out documents")
        best = int(bits.argmin())
        axes.annotate(
            f"best: {bits[best]:.3f}",
            (at[best], bits[best]),
            xytext=(0, 12),
            textcoords="offset points",
            ha="right" if at[best] > last / 2 else "left",
            color=ORANGE,
            weight="bold",
        )
    for name, level in references.items():
        axes.axhline(level, color=GRAY, linewidth=1, linestyle=(0, (5, 4)))
        axes.annotate(
            f"{name}: {level:.2f}",
            (1, level),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            color=GRAY,
            fontsize=9,
        )
    levels = [*_smooth(training), *(bits for _, bits in history.held_out), *references.values()]
    axes.set_ylim(min(levels) - 0.25, min(max(levels) + 0.25, 8.5))
    axes.set_xlim(0, last * 1.01)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
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
    """Mean over the steps around each one, about a fiftieth of the run."""
    width = max(1, len(values) // 50)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    low = np.maximum(np.arange(len(values)) - width, 0)
    high = np.minimum(np.arange(len(values)) + width + 1, len(values))
    return (sums[high] - sums[low]) / (high - low)
