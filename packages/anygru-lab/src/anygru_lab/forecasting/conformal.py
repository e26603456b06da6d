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


def factors(quantiles: np.ndarray, actual: np.ndarray, spans: int) -> np.ndarray:
    """Return a factor for each band, the widest first.

    Args:
        quantiles: [origins, ..., quantiles] of past forecasts.
        actual: [origins, ...], what came.
        spans: origins that would have spanned these steps if none had overlapped.
    """
    found = np.ones(len(_SIDES))
    if actual.size < ENOUGH:
        return found
    middle = quantiles[..., MIDDLE]
    for band in _SIDES:
        below = np.maximum(middle - quantiles[..., band], 1e-12)
        above = np.maximum(quantiles[..., -1 - band] - middle, 1e-12)
        scores = np.where(actual < middle, (middle - actual) / below, (actual - middle) / above)
        share = QUANTILES[-1 - band] - QUANTILES[band]
        # Of n independent scores the share is taken 1 + 1 / n times: half a score for the step at each, and (share - 1/2) / n
        # for where their quantile lies on average. Scores that go together have no larger steps, and are few for the rest.
        steps = scores.size / len(scores) * spans
        level = min(1.0, share + 0.5 / steps + (share - 0.5) / _independent(scores, share, spans))
        found[band] = np.clip(np.quantile(scores, level, method="higher"), 1 / MOST, MOST)
    return found


def _independent(scores: np.ndarray, share: float, spans: int) -> float:
    """How many independent scores would differ as much from origin to origin: those of one go together (Kish 1965)."""
    inside = (scores <= np.quantile(scores, share, method="higher")).reshape(len(scores), -1).mean(1)
    spread = inside.var() * spans / max(spans - 1, 1)
    if not spread:
        return scores.size
    return float(np.clip(spans * inside.mean() * (1 - inside.mean()) / spread, spans, scores.size))


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
