"""A picture of the distribution of each weight in a checkpoint."""

import contextlib
import math
import os
from typing import Any

import numpy as np

from ..checkpoints import Checkpoint
from ..checkpoints.output.atomic import open_for_replace
from ..checkpoints.stored import StoredTensor
from ..errors import CheckpointError, near, printable
from . import UsageError, needed
from .terminal import names_of_any_script, writable

__all__ = ["check", "draw", "save"]

_COLUMNS = 4
_MOST_PANELS = 64
"""A picture of more panels than this could not be looked at."""
_SAMPLE = 1 << 20
"""Larger tensors are sampled: enough for a histogram."""
_GRU_COLOR, _OTHER_COLOR = "tab:green", "tab:blue"


def draw(checkpoint: Checkpoint, path: str) -> None:
    """Draw a histogram of each tensor of numbers, GRUs first and in green; `check` has seen the path.

    Raises:
        CheckpointError: no tensor can be drawn.
    """
    figures = needed("matplotlib.figure", "--plot", "lab")

    in_gru_layers = {name for gru in checkpoint.gru_layers for name in gru.names}
    names = [name for name, stored in checkpoint.stored.items() if stored.values.size > 1]
    names.sort(key=lambda name: name not in in_gru_layers)
    if not names:
        raise CheckpointError(f"{checkpoint.path}: no tensor has more than one number, so no tensor can be drawn")
    shown = names[:_MOST_PANELS]
    rows = math.ceil(len(shown) / _COLUMNS)
    height = 2.6 * rows + 0.6
    figure = figures.Figure(figsize=(4 * _COLUMNS, height))
    figure.subplots_adjust(left=0.04, right=0.98, bottom=0.3 / height, top=1 - 0.9 / height, hspace=0.6, wspace=0.25)
    title = f"{os.path.basename(os.path.normpath(checkpoint.path))} ({checkpoint.format})"
    title += f": {len(shown)} of {len(names)} tensors" if len(shown) < len(names) else ""
    figure.suptitle(printable(title), y=1 - 0.15 / height, verticalalignment="top", parse_math=False)
    for panel, name in zip(figure.subplots(rows, _COLUMNS, squeeze=False).flat, shown, strict=False):
        values = _finite_sample(checkpoint.stored[name])
        panel.stairs(*_histogram(values), fill=True, color=_GRU_COLOR if name in in_gru_layers else _OTHER_COLOR)
        spread = f"mean {values.mean():.3g}, sd {values.std():.3g}" if values.size else "no finite number"
        panel.set_title(f"{printable(name)[-40:]}\n{spread}", fontsize=8, parse_math=False)
        panel.tick_params(labelsize=7)
    for panel in figure.axes[len(shown) :]:
        panel.set_axis_off()
    save(figure, path)


def check(path: str, *inputs: str | None) -> None:
    """Check the path of a picture before the work.

    Raises:
        UsageError: Matplotlib is not installed, the ending is not a picture's, or the path cannot be written.
    """
    writable("--plot", path, *inputs)
    kinds = needed("matplotlib.backend_bases", "--plot", "lab").FigureCanvasBase.get_supported_filetypes()
    if (kind := _kind(path)) not in kinds:
        raise UsageError(f"--plot {path}: the ending must be one of {', '.join(sorted(kinds))}{near(kind, kinds)}")


def save(figure: Any, path: str) -> None:
    """Write a picture in the format of the path's ending; the file is replaced in one step."""
    with open_for_replace(path) as file, names_of_any_script():
        figure.savefig(file, format=_kind(path))
    print(printable(f"picture: {path}"))


def _kind(path: str) -> str:
    return os.path.splitext(path)[1].lstrip(".").lower() or "png"


def _finite_sample(stored: StoredTensor) -> np.ndarray:
    step = max(1, stored.values.size // _SAMPLE)
    flat = stored.values.reshape(-1)[::step]
    values = StoredTensor(flat, stored.dtype).widened()
    real = np.abs(values) if values.dtype.kind == "c" else values.astype(np.float64)
    return real[np.isfinite(real)]


def _histogram(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count values in bins; in one where their range is too short or too long for NumPy's arithmetic."""
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):
        return np.histogram(values, min(60, 5 + int(values.size**0.5)))
    return np.array([values.size]), np.array([values.min(), values.max()])
