"""What a forecast must beat: the seasonal naive one, and a linear model; each with a band from its errors in training."""

from collections.abc import Sequence

import numpy as np
import torch

from .model import QUANTILES, naive

RIDGE = 1.0  # the weight of the penalty, for series of unit variance
MOST_LAGS = 64


class SeasonalNaive:
    """The value one season before (Hyndman and Athanasopoulos, "Forecasting: Principles and Practice", 5.2)."""

    name = "seasonal naive"

    def __init__(self, series: Sequence[np.ndarray], horizon: int, season: int, seasons: int = 1) -> None:
        self.horizon, self.season, self.seasons = horizon, season, seasons
        errors = [
            _ahead(each, season, horizon) - self._of(each)[:-horizon] for each in series if len(each) > season + horizon
        ]
        self.band = _band(np.concatenate(errors))

    def _of(self, series: np.ndarray) -> np.ndarray:
        at = torch.arange(self.season, len(series))
        return np.asarray(naive(torch.from_numpy(series), at, self.horizon, self.season, self.seasons))

    def forecast(self, series: np.ndarray) -> np.ndarray:
        """Quantiles [horizon, C, quantiles] of what follows the values [steps, C]."""
        return np.asarray(self._of(series)[-1][..., None] + self.band)


class Linear:
    """A ridge regression of every step ahead on the last values of all channels."""

    name = "linear"

    def __init__(self, series: Sequence[np.ndarray], horizon: int, season: int) -> None:
        self.horizon, self.lags = horizon, min(2 * season, max(MOST_LAGS, season))
        long = [each for each in series if len(each) > self.lags + horizon]
        self.usable = bool(long)
        if not self.usable:
            return
        seen = np.concatenate([self._features(each)[:-horizon] for each in long])
        wanted = np.concatenate([_ahead(each, self.lags - 1, horizon) for each in long])
        self.shape = wanted.shape[1:]
        wanted = wanted.reshape(len(wanted), -1)
        penalty = RIDGE * np.eye(seen.shape[1])
        penalty[-1, -1] = 0.0  # of the constant
        self.weights = np.linalg.solve(seen.T @ seen + penalty, seen.T @ wanted)
        self.band = _band((wanted - seen @ self.weights).reshape(-1, *self.shape))

    def _features(self, series: np.ndarray) -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(series, self.lags, axis=0)
        flat = windows.reshape(len(windows), -1)
        return np.concatenate([flat, np.ones((len(flat), 1))], axis=1)

    def forecast(self, series: np.ndarray) -> np.ndarray:
        """As of `SeasonalNaive`."""
        centre = (self._features(series[-self.lags :]) @ self.weights).reshape(self.shape)
        return np.asarray(centre[..., None] + self.band)


def _ahead(series: np.ndarray, first: int, horizon: int) -> np.ndarray:
    """What follows each step from `first` on, as far as it is known: [count, horizon, C]."""
    windows = np.lib.stride_tricks.sliding_window_view(series[first + 1 :], horizon, axis=0)
    return np.moveaxis(windows, -1, 1)


def _band(errors: np.ndarray) -> np.ndarray:
    """Quantiles [horizon, C, quantiles] of errors [count, horizon, C]."""
    return np.moveaxis(np.quantile(errors, QUANTILES, axis=0), 0, -1)
