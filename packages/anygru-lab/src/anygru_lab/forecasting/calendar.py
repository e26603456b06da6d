"""What the times themselves tell about a step: the hour, the weekday, the time of the year, holidays, places in seasons."""

from dataclasses import dataclass

import numpy as np

from anygru.extend import UsageError

from .tables import holiday
from .tables.clock import Clock
from .tables.table import Series

_DAY = 86_400_000_000
_YEAR = 365.2425
_MONDAY = 3  # the weekday of 1970-01-01, if Monday is 0
HARMONICS = 2


@dataclass(frozen=True)
class Calendar:
    """Which features the times have; `country` as the package `holidays` names it."""

    hours: bool = False
    weekdays: bool = False
    years: bool = False
    seasons: tuple[int, ...] = ()
    country: str | None = None

    @classmethod
    def of(cls, clock: Clock, series: tuple[Series, ...], seasons: tuple[int, ...], country: str | None) -> "Calendar":
        """Return the features that the times can have: those of the year only where the table has a year of them."""
        if country is not None and not (clock.dated and _daily(clock)):
            raise UsageError(
                f"--country needs dates whose steps are a day or less, and the times are {clock.kind}s with a step of "
                f"{clock.name()}"
            )
        if country is not None:
            holiday.of_year(country, 2024)
        if not clock.dated or not clock.step:
            return cls(seasons=seasons)
        longest = max(each.times[-1] - each.times[0] for each in series)
        daily = clock.unit != "months" and (clock.unit == "weekdays" or clock.step <= _DAY)
        return cls(
            hours=clock.unit == "even" and clock.step < _DAY,
            weekdays=daily,
            years=bool(longest.astype(np.int64) >= 1.5 * _YEAR * _DAY),
            seasons=seasons,
            country=country,
        )

    def features(self, clock: Clock, times: np.ndarray) -> np.ndarray:
        """Return float32 [steps, features] of times."""
        parts = [np.zeros((len(times), 0))]
        index = _index(clock, times)
        parts += [_waves(index / season, 1) for season in self.seasons]
        if self.hours or self.weekdays or self.years or self.country is not None:
            moments = clock.local(times).astype("datetime64[us]").astype(np.int64)
            days = moments // _DAY
            if self.hours:
                parts.append(_waves((moments % _DAY) / _DAY, HARMONICS))
            if self.weekdays:
                parts.append((((days + _MONDAY) % 7)[:, None] == np.arange(7)).astype(np.float64))
            if self.years:
                parts.append(_waves(moments / _DAY / _YEAR, HARMONICS))
            if self.country is not None:
                parts.append(np.stack([_is_holiday(self.country, days + ahead) for ahead in (-1, 0, 1)], 1))
        return np.concatenate(parts, axis=1).astype(np.float32)


def _daily(clock: Clock) -> bool:
    return clock.unit == "weekdays" or (clock.unit == "even" and 0 < clock.step <= _DAY)


def _waves(cycles: np.ndarray, harmonics: int) -> np.ndarray:
    angles = 2 * np.pi * cycles[:, None] * np.arange(1, harmonics + 1)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def _index(clock: Clock, times: np.ndarray) -> np.ndarray:
    """Count steps from a moment that all series share, so that the same time has the same place in a season."""
    if clock.kind == "word" or not clock.step:
        return np.arange(len(times), dtype=np.float64)
    if clock.unit == "months":
        return times.astype("datetime64[M]").astype(np.int64) / round(clock.step)
    if clock.unit == "weekdays":
        return np.busday_count("1970-01-01", times.astype("datetime64[D]"), clock.week).astype(np.float64)
    return np.rint((times.astype(np.int64) if clock.dated else times) / clock.step).astype(np.float64)


def _is_holiday(country: str, days: np.ndarray) -> np.ndarray:
    dates = days.astype("datetime64[D]")
    found = holiday.between(country, dates.min(), dates.max())
    return np.isin(dates, found).astype(np.float64)
