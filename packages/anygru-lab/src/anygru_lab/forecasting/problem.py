"""The task: how far to forecast a table, from which origins the forecasts are tested, and in which units errors count."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anygru.extend import UsageError, count

from .tables.table import Series, Table

QUANTILES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MIDDLE = QUANTILES.index(0.5)
LOW, HIGH = QUANTILES.index(0.1), QUANTILES.index(0.9)
FOLDS = 8  # of the back-test, if they are at most a quarter of the series
USUAL = 12  # steps ahead where there is no season
MANY = 1000  # steps of all series together, from which a network learns as surely as a model of few parameters
MOST_TESTED = 1000  # series of the back-test
ZEROS = 0.02  # of the values, that show that 0 is the least there can be
SMALL = 1e-6  # of the range of values, a distance that is rounding: the network computes with seven digits
AHEAD = 48  # steps ahead at most, unless more are asked for


@dataclass(frozen=True)
class Problem:
    """A table, and the split of each series into what models may learn from and the folds that test them.

    seasons: steps of each, the shortest first; none where the series show none.
    """

    table: Table
    horizon: int
    folds: int
    seasons: tuple[int, ...]

    def check(self) -> "Problem":
        """Return the problem; UsageError if no series is long enough for the back-test."""
        if not self.tested:
            longest = max(map(len, self.table.series))
            raise UsageError(
                f"the longest series has {count(longest, 'step')}; {self.least} are needed for "
                f"{count(self.folds, 'fold')} of {count(self.horizon, 'step')} and what is learned from before them "
                "(--folds, --horizon, --season)"
            )
        return self

    @property
    def season(self) -> int:
        """The shortest season; 1 without any."""
        return self.seasons[0] if self.seasons else 1

    @property
    def least(self) -> int:
        """Steps that a series needs for the back-test."""
        return (self.folds + 1) * self.horizon + self.season + 1

    @property
    def long(self) -> list[int]:
        """The numbers of the series that are long enough for the back-test."""
        return [number for number, each in enumerate(self.table.series) if len(each) >= self.least]

    @cached_property
    def tested(self) -> list[int]:
        """The numbers of the series in the back-test: all that are long enough, or some from all over many."""
        return self.long[:: -(-len(self.long) // MOST_TESTED)] if self.long else []

    def first_origin(self, number: int) -> int:
        """Return how many steps of a series all models may learn from before the back-test."""
        length = len(self.table.series[number])
        return length - self.folds * self.horizon if length >= self.least else length

    @property
    def short(self) -> bool:
        """Whether there are few steps to learn from before the back-test, in all series together."""
        return sum(map(self.first_origin, range(len(self.table.series)))) < MANY

    def origins(self, number: int) -> list[int]:
        """Return the beginnings of the folds of a tested series."""
        first = self.first_origin(number)
        return [first + fold * self.horizon for fold in range(self.folds)]

    def unit(self, number: int) -> np.ndarray:
        """Return the mean error of the seasonal naive forecast of a series before its first origin, for each channel."""
        return difference(self.table.series[number].values[: self.first_origin(number)], self.season)

    @cached_property
    def floor(self) -> np.ndarray:
        """What no forecast of a channel [C] goes below: 0 where values are often 0 and never less, as counts are."""
        values = [each.values for each in self.table.series]
        least = np.min([each.min(0) for each in values], axis=0)
        zeros = sum((each == 0).sum(0) for each in values) / sum(map(len, values))
        return np.asarray(np.where((least == 0) & (zeros >= ZEROS), 0.0, -np.inf))

    def actual(self, number: int, origin: int) -> np.ndarray:
        return self.table.series[number].values[origin : origin + self.horizon]


def difference(values: np.ndarray, season: int) -> np.ndarray:
    """The mean distance of values [steps, C] from those a season before, or one step before where seasons repeat exactly.

    It is 1 where all values are equal.
    """
    found = np.zeros(values.shape[1])
    for lag in (season, 1):
        if len(values) > lag:
            distance = np.abs(values[lag:] - values[:-lag]).mean(0)
            found = np.where((found == 0) & (distance > SMALL * np.ptp(values, axis=0)), distance, found)
    return np.where(found > 0, found, 1.0)


def usual_horizon(series: Sequence[Series], season: int, ahead: int | None) -> int:
    """Return how far to forecast by default: a season, or as far as the table's known columns reach."""
    if ahead is not None:
        return ahead
    shortest = int(np.median([len(each) for each in series]))
    return max(1, min(season if season > 1 else USUAL, AHEAD, shortest // 5))


def usual_folds(series: Sequence[Series], horizon: int) -> int:
    """Return as many folds as a quarter of the usual series holds, up to `FOLDS`."""
    usual = int(np.median([len(each) for each in series]))
    return max(1, min(FOLDS, usual // 4 // horizon))
