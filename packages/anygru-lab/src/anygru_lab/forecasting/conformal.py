"""Bands that hold what they promise: widened or narrowed until past forecasts had the share of values that they should have.

The score of a value is its distance from the median, in units of the band's own half-width on that side; the band becomes as
wide as the quantile of the scores (Romano, Patterson and Candès 2019, "Conformalized quantile regression", with a factor in the
place of a sum, so that bands of any width keep their shape).
"""

import numpy as np

from .problem import MIDDLE, QUANTILES

ENOUGH = 20  # scores; fewer change nothing
MOST = 1e6  # factor; a band that a model has fitted to nothing may need a large one
_SIDES = tuple(range(MIDDLE))  # a band for each quantile below the median, and the one above it


def factors(quantiles: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Return a factor for each band, the widest first.

    Args:
        quantiles: [..., quantiles] of past forecasts.
        actual: [...], what came.
    """
    found = np.ones(len(_SIDES))
    if actual.size < ENOUGH:
        return found
    middle = quantiles[..., MIDDLE]
    for band in _SIDES:
        below = np.maximum(middle - quantiles[..., band], 1e-12)
        above = np.maximum(quantiles[..., -1 - band] - middle, 1e-12)
        scores = np.where(actual < middle, (middle - actual) / below, (actual - middle) / above).ravel()
        level = min(1.0, (QUANTILES[-1 - band] - QUANTILES[band]) * (1 + 1 / len(scores)))
        found[band] = np.clip(np.quantile(scores, level, method="higher"), 1 / MOST, MOST)
    return found


def applied(quantiles: np.ndarray, factor: np.ndarray, floor: np.ndarray | float = -np.inf) -> np.ndarray:
    """Quantiles [..., C, quantiles] whose bands are so much wider, and nowhere below the `floor` [C] of each channel.

    They rise, since no band may be wider than the one around it.
    """
    middle = quantiles[..., MIDDLE : MIDDLE + 1]
    below = (middle - quantiles[..., :MIDDLE]) * factor
    above = (quantiles[..., MIDDLE + 1 :] - middle) * factor[::-1]
    below = np.maximum.accumulate(below[..., ::-1], axis=-1)[..., ::-1]
    found = np.concatenate([middle - below, middle, middle + np.maximum.accumulate(above, axis=-1)], axis=-1)
    return np.asarray(np.maximum(found, np.asarray(floor)[..., None]))
