"""All series of a table as the network reads them: one after the other in flat tensors, scaled, with their features.

Each channel is logged where that makes its noise even (the likelihood decides), and divided by the error of its seasonal naive
forecast, so that one network serves series of any size. Levels and deviations at a step use that step and those before it only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .calendar import Calendar
from .problem import difference
from .tables.clock import Clock
from .tables.table import Series

MOST = 10.0  # of a feature, in units of the seasonal error; what is larger is squeezed below it
SHORT = 8  # steps of the mean that tells recent values from older ones
_MOST_FOR_LOG = 200  # series that decide about the logarithm


def choose_logs(values: Sequence[np.ndarray], season: int) -> tuple[bool, ...]:
    """Return for each channel whether its logarithm has the more even noise: the likelier one of two normal distributions."""
    chosen = values[:: max(1, len(values) // _MOST_FOR_LOG)]
    return tuple(_logged([each[:, c] for each in chosen], season) for c in range(chosen[0].shape[1]))


def _logged(values: Sequence[np.ndarray], season: int) -> bool:
    gain = 0.0
    for each in values:
        lag = season if len(each) > 2 * season else 1
        if bool((each <= 0).any()):
            return False
        if len(each) < lag + 4:
            continue
        logged = np.log(each)
        plain = each[lag:] - each[:-lag]
        rate = logged[lag:] - logged[:-lag]
        if plain.std() > 0 and rate.std() > 0:
            gain += float(len(plain) * (np.log(plain.std()) - np.log(rate.std())) - logged[lag:].sum())
    return bool(gain > 0)


@dataclass(frozen=True)
class Scale:
    """How the values of a series become those of the network: [C] each."""

    mean: np.ndarray
    deviation: np.ndarray
    unit: np.ndarray
    logs: np.ndarray

    @classmethod
    def of(cls, known: np.ndarray, season: int, logs: Sequence[bool]) -> "Scale":
        logged = np.array(logs)
        values = _log(known, logged)
        deviation = values.std(0)
        unit = difference(values, season)
        return cls(values.mean(0), np.where(deviation > 0, deviation, 1.0), unit, logged)

    def scaled(self, values: np.ndarray) -> np.ndarray:
        return np.asarray((_log(values, self.logs) - self.mean) / self.unit)

    def unscaled(self, quantiles: np.ndarray) -> np.ndarray:
        """Values of quantiles [..., C, quantiles]."""
        found = quantiles * self.unit[:, None] + self.mean[:, None]
        return np.where(self.logs[:, None], np.exp(np.minimum(found, 230.0)), found)


def _log(values: np.ndarray, logs: np.ndarray) -> np.ndarray:
    return np.where(logs, np.log(np.maximum(values, 1e-300)), values) if logs.any() else values


class Store:
    """Flat tensors; row `offset[n] + t` is the step t of the series n, and `horizon` rows follow each series.

    Args:
        series: the series.
        ends: of each, the steps whose values are known where scales are computed.
        clock: of their times.
        calendar: features of the times.
        seasons: steps of each.
        horizon: steps of a forecast.
        logs: for each channel, whether it is logged.
    """

    def __init__(
        self,
        series: Sequence[Series],
        ends: Sequence[int],
        clock: Clock,
        calendar: Calendar,
        seasons: Sequence[int],
        horizon: int,
        logs: Sequence[bool],
    ) -> None:
        season = seasons[0] if seasons else 1
        self.horizon, self.seasons = horizon, tuple(seasons)
        self.lengths = np.array([len(each) for each in series])
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths + horizon)[:-1]])
        self.scales = [Scale.of(each.values[:end], season, logs) for each, end in zip(series, ends, strict=True)]
        parts = [self._part(each, scale, season) for each, scale in zip(series, self.scales, strict=True)]
        self.values, self.level, self.short, self.place = (
            torch.from_numpy(np.concatenate([part[n] for part in parts]).astype(np.float32)) for n in range(4)
        )
        self.begin = torch.from_numpy(np.repeat(self.offsets, self.lengths + horizon))
        moments = [calendar.features(clock, _with_later(each, clock, horizon)) for each in series]
        known = [_padded(each.known, len(each) + horizon) for each in series]
        past = [_padded(each.past, len(each) + horizon) for each in series]
        self.calendar = torch.from_numpy(np.concatenate(moments))
        self.known = torch.from_numpy(_even(known, ends))
        self.past = torch.from_numpy(_even(past, ends))

    def _part(self, series: Series, scale: Scale, season: int) -> tuple[np.ndarray, ...]:
        values = scale.scaled(series.values)
        values = np.concatenate([values, np.repeat(values[-1:], self.horizon, axis=0)])
        place = (values * scale.unit) / scale.deviation
        return values, _trailing(values, season), _trailing(values, SHORT), place


def _with_later(series: Series, clock: Clock, horizon: int) -> np.ndarray:
    """The times of a series and of what follows it; words and lone times are counted."""
    if clock.kind == "word" or not clock.step:
        return np.arange(len(series) + horizon)
    return np.concatenate([series.times, clock.later(series.times[-1], horizon)])


def _padded(covariates: np.ndarray, rows: int) -> np.ndarray:
    if not covariates.shape[1]:
        return np.zeros((rows, 0))
    lacking = rows - len(covariates)
    return np.pad(covariates, ((0, max(0, lacking)), (0, 0)), mode="edge")[:rows]


def _even(parts: Sequence[np.ndarray], ends: Sequence[int]) -> np.ndarray:
    """Covariates of mean 0 and variance 1 up to the ends, so that they are of the size of other features."""
    found = []
    for each, end in zip(parts, ends, strict=True):
        deviation = each[:end].std(0)
        two_valued = ((each == 0) | (each == 1)).all(0)
        mean = np.where(two_valued, 0.0, each[:end].mean(0))
        found.append((each - mean) / np.where(two_valued | (deviation == 0), 1.0, deviation))
    return np.concatenate(found).astype(np.float32)


def _trailing(values: np.ndarray, width: int) -> np.ndarray:
    """The mean of the last `width` values up to each step, of fewer at the beginning."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - width, 0)
    return np.asarray((sums[ends] - sums[begins]) / (ends - begins)[:, None])


def squeezed(features: Tensor) -> Tensor:
    return MOST * torch.tanh(features / MOST)
