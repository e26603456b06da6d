"""Figures of Matplotlib, drawn without a screen and written whole or not at all."""

import os
import warnings
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from anygru import extend

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    """Give an empty figure that is drawn into files."""
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
