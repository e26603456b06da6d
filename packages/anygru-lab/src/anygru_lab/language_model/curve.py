"""A loss curve drawn with dots of braille, for terminals."""

import math
from collections.abc import Sequence

import numpy as np

ROWS = 8
FIRST_SHOWN = 20  # steps
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a cell, by row and column
_EMPTY = 0x2800


def drawn(losses: Sequence[float], steps: int, width: int, rows: int = ROWS) -> list[str]:
    """Return the lines of a picture of the losses so far, on axes that hold all steps of the run.

    Args:
        losses: of each step.
        steps: of the whole run.
        width: columns of the terminal.
        rows: lines of the picture.
    """
    labels = 6
    columns = width - labels - 1
    if len(losses) < FIRST_SHOWN or columns < 10:
        return []
    means = _means(np.asarray(losses), steps, 2 * columns)
    known = means[np.isfinite(means)]
    if not len(known) or known.min() <= 0:
        return []
    low, high = math.log(known.min()), math.log(min(known.max(), 9.0))
    height = 4 * rows - 1
    cells = np.full((rows, columns), _EMPTY)
    for place in np.flatnonzero(np.isfinite(means)).tolist():
        share = (math.log(means[place]) - low) / (high - low) if high > low else 0.0
        row = height - round(min(share, 1.0) * height)
        cells[row // 4, place // 2] |= _DOTS[row % 4][place % 2]
    lines = []
    for number in range(rows):
        level = math.exp(high - (high - low) * number / max(1, rows - 1))
        label = f"{level:{labels}.2f}" if number in (0, rows - 1) else " " * labels
        lines.append(f"{label}┤" + "".join(chr(cell) for cell in cells[number]).rstrip(chr(_EMPTY)))
    return lines


def _means(losses: np.ndarray, steps: int, places: int) -> np.ndarray:
    """The mean loss at each place of the axis; nan where there is none yet."""
    at = np.minimum(np.arange(len(losses)) * places // max(steps, 1), places - 1)
    sums = np.bincount(at, losses, places)
    counts = np.bincount(at, minlength=places)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
