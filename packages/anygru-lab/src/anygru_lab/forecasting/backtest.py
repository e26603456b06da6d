"""Back-testing: forecasts from several origins in the last part of each series, which no model was trained on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from anygru.extend import UsageError

from .model import QUANTILES, Forecaster, pinball
from .series import Series, Table

NEARLY = 0.9  # multiples of a season are often as high as the season itself

Forecast = Callable[[int, np.ndarray, int], np.ndarray]
"""From the number of a series, its scaled values [steps, C] and the origin: quantiles [horizon, C, quantiles]."""


@dataclass(frozen=True)
class Scores:
    """Means over all series, channels, origins and steps ahead.

    error, crps: of the median, and the continuous ranked probability score (from the quantiles); both in units of the
        in-sample error of the seasonal naive forecast (MASE, Hyndman and Koehler 2006).
    coverage: the share of values between the quantiles 0.1 and 0.9, ideally 0.8.
    """

    error: float
    crps: float
    coverage: float


@dataclass(frozen=True)
class Scaled:
    """A table whose channels have mean 0 and variance 1 in each series, as known before the first origin."""

    table: Table
    horizon: int
    folds: int
    season: int

    def __post_init__(self) -> None:
        needed = 2 * self.season + (self.folds + 1) * self.horizon + 1
        for each in self.table.series:
            if len(each) < needed:
                raise UsageError(
                    f"the series {each.name!r} has {len(each)} steps; {needed} are needed for {self.folds} folds of "
                    f"{self.horizon} steps and two seasons of {self.season} before them (--folds, --horizon, --season)"
                )

    def first_origin(self, series: Series) -> int:
        """Return how many steps all models may be trained on."""
        return len(series) - self.folds * self.horizon

    def origins(self, series: Series) -> list[int]:
        return [self.first_origin(series) + fold * self.horizon for fold in range(self.folds)]

    def moments(self, series: Series) -> tuple[np.ndarray, np.ndarray]:
        known = series.values[: self.first_origin(series)]
        deviation = known.std(0)
        return known.mean(0), np.where(deviation > 0, deviation, 1.0)

    def values(self, series: Series) -> np.ndarray:
        mean, deviation = self.moments(series)
        return np.asarray((series.values - mean) / deviation)

    def training(self) -> list[np.ndarray]:
        return [self.values(each)[: self.first_origin(each)] for each in self.table.series]

    def unscaled(self, series: Series, quantiles: np.ndarray) -> np.ndarray:
        mean, deviation = self.moments(series)
        return np.asarray(quantiles * deviation[:, None] + mean[:, None])


def of_model(model: Forecaster) -> Forecast:
    @torch.no_grad()
    def forecast(number: int, values: np.ndarray, origin: int) -> np.ndarray:
        seen = torch.from_numpy(values[:origin]).float()
        return model([seen], [0], [torch.tensor([origin - 1])])[0].double().numpy()

    return forecast


def score(data: Scaled, forecast: Forecast) -> Scores:
    """Compare forecasts from all origins of all series with what came."""
    errors, losses, covered = [], [], []
    low, middle, high = (QUANTILES.index(level) for level in (0.1, 0.5, 0.9))
    for number, series in enumerate(data.table.series):
        values = data.values(series)
        known = values[: data.first_origin(series)]
        unit = np.abs(known[data.season :] - known[: -data.season]).mean(0)
        unit = np.where(unit > 0, unit, 1.0)
        for origin in data.origins(series):
            quantiles = forecast(number, values, origin)
            actual = values[origin : origin + data.horizon]
            errors.append((np.abs(quantiles[..., middle] - actual) / unit).mean())
            loss = pinball(torch.from_numpy(quantiles), torch.from_numpy(actual)).numpy()
            losses.append((2 * loss.mean(-1) / unit).mean())
            covered.append(((quantiles[..., low] <= actual) & (actual <= quantiles[..., high])).mean())
    return Scores(float(np.mean(errors)), float(np.mean(losses)), float(np.mean(covered)))


def guess_season(series: Sequence[Series]) -> int:
    """Return the least lag, up to a quarter of the shortest series, at which the autocorrelation peaks nearly at its highest."""
    most = min(min(map(len, series)) // 4, 1000)
    correlation = np.zeros(most + 1)
    for each in series:
        values = each.values - each.values.mean(0)
        size = 1 << (2 * len(values) - 1).bit_length()
        power = np.abs(np.fft.rfft(values, size, axis=0)) ** 2
        found = np.fft.irfft(power, size, axis=0)[: most + 1]
        correlation += (
            (found / np.maximum(found[:1], 1e-300)).mean(1) * len(values) / (len(values) - np.arange(most + 1))
        )
    inner = correlation[1:-1]
    peaks = np.flatnonzero((inner > correlation[:-2]) & (inner >= correlation[2:])) + 1
    high = [lag for lag in peaks.tolist() if lag > 1 and correlation[lag] >= NEARLY * correlation[peaks].max()]
    if not high or correlation[high[0]] <= 0:
        raise UsageError("the series show no season; name its length with --season")
    return int(high[0])
