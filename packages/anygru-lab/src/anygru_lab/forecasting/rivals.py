"""What a forecast must beat: the last value, that of each season before, their drift, and a linear model; each as it is.

The point forecasts are those of the textbook (Hyndman and Athanasopoulos, "Forecasting: Principles and Practice", 5.2): the
median is not moved. Bands are the quantiles of the distances that the same rule had in the past of the series.
"""

from typing import Protocol

import numpy as np

from .problem import MIDDLE, QUANTILES, Problem
from .store import Store

MOST_ERRORS = 400  # past forecasts that give a band
RIDGE = 20.0  # the weight of the penalty
LEAST_ALONE = 0.1  # of a row's error, that the other rows leave
MOST_LAGS = 64  # of two seasons; a longer season is seen once
MOST_FEATURES = 400  # lags of all channels
MOST_ROWS = 20_000  # that the linear model learns from


class Method(Protocol):
    """Something that forecasts the series of a problem."""

    name: str
    refits: bool
    """Whether it is fitted again at each origin, to the steps before it."""

    def forecast(self, numbers: np.ndarray, origins: np.ndarray) -> np.ndarray:
        """Quantiles [count, horizon, C, quantiles] of what follows the first `origins` steps of the series `numbers`."""


class Rule:
    """A forecast by a rule [count, horizon, C] of the values before; with bands from its own past errors."""

    name = ""
    refits = True

    def __init__(self, problem: Problem) -> None:
        self.problem, self.horizon = problem, problem.horizon

    def points(self, values: np.ndarray, origins: np.ndarray) -> np.ndarray:
        """The forecasts [count, horizon, C] after `origins` steps of values [steps, C]."""
        raise NotImplementedError

    @property
    def first(self) -> int:
        """The least origin."""
        return 1

    def forecast(self, numbers: np.ndarray, origins: np.ndarray) -> np.ndarray:
        """See `Method`."""
        return np.stack([self._one(int(n), int(o)) for n, o in zip(numbers, origins, strict=True)])

    def _one(self, number: int, origin: int) -> np.ndarray:
        values = self.problem.table.series[number].values[:origin]
        centre = self.points(values, np.array([max(origin, 1)]))[0]
        past = np.arange(self.first, origin - self.horizon + 1)[-MOST_ERRORS:]
        if not len(past):
            past = np.arange(1, origin)[-1:]
        if not len(past):
            return np.repeat(centre[..., None], len(QUANTILES), -1)
        ahead = np.minimum(past[:, None] + np.arange(self.horizon), origin - 1)
        errors = np.abs(values[ahead] - self.points(values, past))
        return centre[..., None] + around(errors)


def around(errors: np.ndarray) -> np.ndarray:
    """Offsets of quantiles [horizon, C, quantiles] from distances [count, horizon, C]; that of the median is 0."""
    levels = np.abs(2 * np.array(QUANTILES) - 1)
    found = np.moveaxis(np.quantile(errors, levels, axis=0), 0, -1)
    return np.asarray(found * np.sign(np.arange(len(QUANTILES)) - MIDDLE))


class Naive(Rule):
    """The last value."""

    name = "naive"

    def points(self, values: np.ndarray, origins: np.ndarray) -> np.ndarray:
        return np.repeat(values[origins - 1][:, None], self.horizon, axis=1)


class SeasonalNaive(Rule):
    """The value one season before."""

    def __init__(self, problem: Problem, season: int) -> None:
        super().__init__(problem)
        self.season, self.name = season, f"seasonal naive ({season})"

    @property
    def first(self) -> int:
        return self.season

    def points(self, values: np.ndarray, origins: np.ndarray) -> np.ndarray:
        ahead = np.arange(self.horizon)
        row = origins[:, None] + ahead - self.season * (ahead // self.season + 1)
        return np.asarray(values[np.maximum(row, 0)])


class Drift(Rule):
    """The line through the first and the last value."""

    name = "drift"

    def points(self, values: np.ndarray, origins: np.ndarray) -> np.ndarray:
        last = values[origins - 1]
        slope = (last - values[0]) / np.maximum(origins - 1, 1)[:, None]
        return last[:, None] + np.arange(1, self.horizon + 1)[:, None] * slope[:, None]


class Linear:
    """A ridge regression of every step ahead on the last values of all channels, of all series together."""

    name = "linear"
    refits = False

    def __init__(self, problem: Problem, store: Store, ends: list[int]) -> None:
        self.store, self.horizon = store, problem.horizon
        longest = max(problem.seasons, default=8)
        wanted_lags = 2 * longest if 2 * longest <= MOST_LAGS else longest
        self.lags = max(1, min(wanted_lags, MOST_FEATURES // len(problem.table.channels)))
        last = np.array(ends) - self.horizon
        places = [
            (n, o) for n in range(len(ends)) for o in _spread(self.lags, int(last[n]), MOST_ROWS // len(ends) + 1)
        ]
        self.usable = len(places) > self.lags
        if not self.usable:
            return
        numbers, origins = np.array(places).T
        seen = self._features(numbers, origins)
        rows = (store.offsets[numbers] + origins)[:, None] + np.arange(self.horizon)
        wanted = store.values.numpy()[rows].astype(np.float64)
        self.shape = wanted.shape[1:]
        wanted = wanted.reshape(len(wanted), -1) - np.tile(seen[1], self.horizon)
        penalty = RIDGE * np.eye(seen[0].shape[1])
        penalty[-1, -1] = 0.0  # of the constant
        inverse = np.linalg.inv(seen[0].T @ seen[0] + penalty)
        self.weights = inverse @ seen[0].T @ wanted
        # Errors as they would be without the row itself: with as many lags as rows the others would be near 0.
        alone = np.maximum(1 - ((seen[0] @ inverse) * seen[0]).sum(1, keepdims=True), LEAST_ALONE)
        self.band = around(np.abs((wanted - seen[0] @ self.weights) / alone).reshape(-1, *self.shape))

    def _features(self, numbers: np.ndarray, origins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values before each origin, less the level there, with the level and a constant; and the level."""
        first = self.store.offsets[numbers]
        rows = (first + origins)[:, None] - np.arange(1, self.lags + 1)
        values = self.store.values.numpy()[np.maximum(rows, first[:, None])].astype(np.float64)
        level = self.store.level.numpy()[first + origins - 1].astype(np.float64)
        flat = (values - level[:, None]).reshape(len(numbers), -1)
        return np.concatenate([flat, level, np.ones((len(flat), 1))], axis=1), level

    def forecast(self, numbers: np.ndarray, origins: np.ndarray) -> np.ndarray:
        """See `Method`."""
        seen, level = self._features(numbers, origins)
        centre = (seen @ self.weights + np.tile(level, self.horizon)).reshape(-1, *self.shape)
        scaled = centre[..., None] + self.band
        return np.stack([self.store.scales[n].unscaled(each) for n, each in zip(numbers, scaled, strict=True)])


def _spread(first: int, last: int, most: int) -> list[int]:
    """Whole numbers from `first` to `last`, evenly spread where there are more than `most`."""
    if last < first:
        return []
    return np.unique(np.linspace(first, last, min(most, last - first + 1)).astype(int)).tolist()


def simple(problem: Problem, candidates: list[int]) -> "list[Method]":
    """The rules for a problem: the seasonal naive one for each season and each candidate that the times suggest."""
    shortest = min(problem.first_origin(number) for number in problem.tested)
    seasons = sorted({*problem.seasons, *candidates})
    rules: list[Method] = [Naive(problem), Drift(problem)]
    rules += [SeasonalNaive(problem, each) for each in seasons if 1 < each < shortest]
    return rules
