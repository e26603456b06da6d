"""The steps of a table: how far apart its times are, which rows are missing between them, and the times that follow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from anygru.extend import UsageError, count

from . import holiday, zones

_NEARLY = 0.01  # of a step: clocks of devices are not exact
_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_SATURDAY, _SUNDAY, _EPOCH_WEEKDAY = 5, 6, 3  # Monday is 0; 1970 began on a Thursday
MONDAY_TO_FRIDAY = "1111100"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LACKING = 0.1  # of the steps
SPARSE = 100  # steps to a row, at most, where missing rows are 0
_OFF = 4  # days from the end of a month to its last working day, or from its beginning to the first, at most
_ENOUGH = 10  # rows without a weekend among them, to take them for trading days
_WEEKS = 3  # without a row on other days of the week


@dataclass(frozen=True)
class Clock:
    """How the times of a table go on.

    kind: "date", "time", "number" or "word", as of `times.Moments`.
    step: the length of a step, in microseconds, numbers or months; 0 where it is not known.
    unit: "even", "months", or "weekdays" where there are none on some days of the week, as at weekends.
    last: whether months end with the times.
    zone: what follows the times when they are written; of a place, such as "Europe/Berlin", times are in UTC.
    """

    kind: str
    step: float = 0.0
    unit: str = "even"
    last: bool = False
    zone: str = ""
    week: str = MONDAY_TO_FRIDAY
    """Of weekdays: a 1 for each day of the week that has steps, Monday first."""
    off: tuple[str, ...] = ()
    """Of weekdays: those of the table that have no steps, as holidays."""
    country: str = ""
    """Of weekdays: where holidays after the table have no steps, either."""

    @property
    def dated(self) -> bool:
        return self.kind in ("date", "time")

    def texts(self, times: np.ndarray) -> list[str]:
        """Return times as they are written into results."""
        if not self.dated:
            return [f"{each:.10g}" if isinstance(each, float) else str(each) for each in times.tolist()]
        form = "datetime64[D]" if self.kind == "date" else "datetime64[us]"
        found = [str(each) for each in self.local(times).astype(form)]
        if self.kind == "date":
            return found
        if all(each.endswith(".000000") for each in found):
            found = [each[:-7] for each in found]
        zone = zones.suffixes(times, self.zone)
        return [each.replace("T", " ") + after for each, after in zip(found, zone, strict=True)]

    def local(self, times: np.ndarray) -> np.ndarray:
        """Return times as clocks show them where they were taken."""
        return zones.local(times, self.zone) if self.kind == "time" else times

    def later(self, time: object, steps: int) -> np.ndarray:
        """Return the times of so many steps after one."""
        ahead = np.arange(1, steps + 1)
        if self.kind == "word" or not self.step:
            return np.array([f"{time} + {n}" for n in ahead], dtype=object)
        if self.kind == "number":
            moved = np.asarray(time) + ahead * self.step
            return np.rint(moved).astype(np.int64) if float(self.step).is_integer() and _whole(time) else moved
        moment = np.asarray(time, "datetime64[us]")
        if self.unit == "months":
            return self._months_later(moment, ahead * round(self.step))
        if self.unit == "weekdays":
            day = moment.astype("datetime64[D]")
            closed = self.holidays
            if self.country:
                closed = np.union1d(closed, holiday.between(self.country, day, day + 7 * steps + 366))
            found = np.busday_offset(day, ahead, "backward", weekmask=self.week, holidays=closed)
            return found.astype("datetime64[us]") + (moment - day)
        return moment + (ahead * self.step).astype(np.int64).astype("timedelta64[us]")

    @cached_property
    def holidays(self) -> np.ndarray:
        """The days that are off."""
        return np.array(self.off, "datetime64[D]")

    def without_off(self, times: np.ndarray) -> np.ndarray:
        """Return whether each time is on none of the days that are off."""
        return ~np.isin(times.astype("datetime64[D]"), self.holidays) if self.off else np.ones(len(times), bool)

    def _months_later(self, moment: np.ndarray, months: np.ndarray) -> np.ndarray:
        month = moment.astype("datetime64[M]") + months
        days = (moment - moment.astype("datetime64[M]")).astype(np.int64)
        length = ((month + 1).astype("datetime64[D]") - month.astype("datetime64[D]")).astype(np.int64)
        day, within = days // _UNITS["day"], days % _UNITS["day"]
        place = length - 1 if self.last else np.minimum(day, length - 1)
        return month.astype("datetime64[us]") + (place * _UNITS["day"] + within).astype("timedelta64[us]")

    def name(self) -> str:
        """Name the length of a step."""
        if self.kind == "word" or not self.step:
            return "1 row"
        if self.unit == "months":
            return count(round(self.step), "month")
        if self.unit == "weekdays":
            names = [name for name, has in zip(_DAYS, self.week, strict=True) if has == "1"]
            return "1 weekday" if self.week == MONDAY_TO_FRIDAY else f"1 day of {' '.join(names)}"
        if self.kind == "number":
            return f"{self.step:g}"
        noun, unit = next(((n, u) for n, u in _UNITS.items() if self.step % u == 0), ("second", 1_000_000))
        number = self.step / unit
        return count(int(number), noun) if number == int(number) else f"{number:g} {noun}s"


def _whole(time: object) -> bool:
    return isinstance(time, int | np.integer) or float(str(time)).is_integer()


def find(groups: Sequence[np.ndarray], kind: str, zone: str, gaps: str) -> Clock:
    """Return the clock of the sorted times of all groups: their usual distance is the step."""
    if kind == "word":
        return Clock(kind)
    clock = Clock(kind, zone=zone)
    if clock.dated:
        clock = _months(groups, clock) or _weekdays(groups, clock) or clock
    steps = np.sort(np.concatenate([distances(times, clock) for times in groups]))
    if not len(steps):
        return clock
    # Where rows without an event were left out, most distances may be several steps.
    step = float(steps[np.searchsorted(steps, 0, side="right")] if gaps == "zero" else steps[(len(steps) - 1) // 2])
    return replace(clock, step=step)


def same(clock: Clock, other: Clock, where: str) -> None:
    """Refuse a table with other steps than those that a model was trained on."""
    if (other.unit, other.step) != (clock.unit, clock.step) and other.step:
        raise UsageError(f"the model's steps are {clock.name()}, and those of {where} are {other.name()}")


def places(times: np.ndarray, clock: Clock, where: str, gaps: str) -> np.ndarray:
    """Return at which step from the first each of the sorted times is.

    Raises:
        UsageError: rows are missing and `gaps` is "error"; times are between the steps; or more rows are missing than
            there are.
    """
    if gaps == "ignore" or clock.kind == "word" or len(times) < 2:
        return np.arange(len(times))
    steps = distances(times, clock) / clock.step
    whole = np.rint(steps)
    uneven = np.abs(steps - whole) > _NEARLY
    length = clock.name()
    if uneven.any():
        first, second = clock.texts(times[int(uneven.argmax()) : int(uneven.argmax()) + 2])
        raise UsageError(
            f"the times of {where} are not equally far apart: {second} follows {first}, and a step is {length}; "
            "--gaps ignore counts every row as one step"
        )
    lacking = int(whole.sum()) - len(whole)
    many = lacking > len(times) * (SPARSE if gaps == "zero" else 1)
    if lacking and (gaps == "error" or many):
        row = int((whole > 1).argmax())
        missing = f"{where} lacks {count(lacking, 'row')}, the first at {clock.texts(clock.later(times[row], 1))[0]}"
        if many:
            raise UsageError(f"{missing}: more than it has, which is too many to fill (a step is {length}); --gaps ignore "
                             "counts every row as one step")  # fmt: skip
        set_forward = "; if clocks were set forward there, name their place with --zone, as Europe/Berlin"
        raise UsageError(
            f"{missing} (a step is {length}); --gaps fill repeats the row before, "
            "--gaps zero takes 0 there, --gaps ignore counts every row as one step"
            + (set_forward if _clocks_change(clock, times[row]) else "")
        )
    return np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)


def sparse(groups: Sequence[np.ndarray], clock: Clock) -> bool:
    """Whether more than a tenth of the steps between the sorted times of all groups have no row."""
    if clock.kind == "word" or not clock.step:
        return False
    spanned = sum(float(distances(each, clock).sum()) for each in groups) / clock.step
    return spanned > (1 + _LACKING) * sum(len(each) - 1 for each in groups)


def _clocks_change(clock: Clock, last: np.datetime64) -> bool:
    """Whether a row is missing in the hours before or after a Sunday's dawn, when clocks are set forward."""
    if clock.kind != "time" or clock.zone or clock.unit != "even" or clock.step > _UNITS["hour"]:
        return False
    day = last.astype("datetime64[D]")
    hour = (last - day) / np.timedelta64(1, "h")
    return bool((day.astype(np.int64) + _EPOCH_WEEKDAY) % 7 == _SUNDAY and hour < 4)


def filled(times: np.ndarray, clock: Clock, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for every step from the first to the last the row that is known then, and the time."""
    rows = np.searchsorted(at, np.arange(at[-1] + 1), side="right") - 1
    moved = times[rows]
    for place in np.flatnonzero(np.arange(len(rows)) != at[rows]).tolist():
        moved[place] = clock.later(times[rows[place]], place - int(at[rows[place]]))[-1]
    return rows, moved


def distances(times: np.ndarray, clock: Clock) -> np.ndarray:
    """How far apart each two of the sorted times are, in the units of the clock's step."""
    if clock.unit == "months":
        return np.diff(times.astype("datetime64[M]").astype(np.int64)).astype(np.float64)
    if clock.unit == "weekdays":
        days = times.astype("datetime64[D]")
        return np.busday_count(days[:-1], days[1:], clock.week, clock.holidays).astype(np.float64)
    return np.diff(times.astype(np.int64) if clock.dated else times).astype(np.float64)


def _months(groups: Sequence[np.ndarray], clock: Clock) -> Clock | None:
    """Return the clock of times that name months: the same day and hour of each, or a day at its end or beginning."""
    times = np.concatenate(groups)
    days = times.astype("datetime64[D]")
    if len(np.unique((times - days).astype(np.int64))) > 1:
        return None
    months = days.astype("datetime64[M]")
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    left = ((months + 1).astype("datetime64[D]") - days).astype(np.int64) - 1
    same_day = len(np.unique(day)) == 1
    # The first or the last working day of each month, as banks and exchanges write it.
    alone = all((np.diff(each.astype("datetime64[M]").astype(np.int64)) > 0).all() for each in groups)
    if not (same_day or (left == 0).all() or (alone and min(day.max(), left.max()) <= _OFF)):
        return None
    return Clock(clock.kind, 1, "months", bool(not same_day and left.max() <= day.max()), clock.zone)


def _weekdays(groups: Sequence[np.ndarray], clock: Clock) -> Clock | None:
    """Return the clock of days that are never on some days of the week, as those of an exchange or a shop."""
    if clock.kind != "date":
        return None
    days = np.concatenate(groups).astype("datetime64[D]")
    there = np.bincount((days.astype(np.int64) + _EPOCH_WEEKDAY) % 7, minlength=7) > 0
    week = "".join("01"[int(each)] for each in there)
    weeks = int((days.max() - days.min()).astype(np.int64)) / 7 if len(days) else 0
    enough = len(days) >= _ENOUGH and (weeks >= _WEEKS or not there[_SATURDAY:].any())
    if not enough or not 1 < there.sum() < 7:
        return None
    week = week if there[_SATURDAY:].any() or weeks >= _WEEKS and there.sum() < 5 else MONDAY_TO_FRIDAY
    found = replace(clock, unit="weekdays", step=1.0, week=week)
    usual = [np.median(distances(each, found)) for each in groups if len(each) > 1]
    return found if usual and max(usual) == 1 else None


def without_holidays(groups: Sequence[np.ndarray], clock: Clock, country: str | None) -> tuple[Clock, str]:
    """Take weekdays on which no group has values for holidays, if they are few.

    Args:
        groups: the sorted times of each group that have values.
        clock: of them.
        country: whose holidays may be known.

    Returns:
        The clock without such days, and without later holidays of the country if no row is on one; and a remark.
    """
    if clock.unit != "weekdays" or not sum(map(len, groups)):
        return clock, ""
    days = np.unique(np.concatenate(groups).astype("datetime64[D]"))
    span = np.arange(days[0], days[-1] + 1)
    steps = span[np.is_busday(span, clock.week)]
    missing = np.setdiff1d(steps, days)
    if len(missing) > _LACKING * len(steps):
        return clock, ""
    known = steps[:0] if country is None else np.intersect1d(holiday.between(country, days[0], days[-1]), steps)
    on, others, said = np.intersect1d(known, days), np.setdiff1d(missing, known), []
    if len(missing):
        clock = replace(clock, off=tuple(map(str, missing)))
        other = (
            f"; {len(others):,} of them are none of {country}, the first {others[0]}" if country and len(others) else ""
        )
        said.append(f"{count(len(missing), 'weekday')} without values taken for holidays, the first {missing[0]}{other} (--gaps "
                    f"fill repeats the values before{'' if country else ', --country leaves out later ones'})")  # fmt: skip
    if len(on):
        said.append(f"rows are on holidays of {country}, the first on {on[0]}, so that later ones have steps, too")
    elif len(known) and country is not None:
        clock = replace(clock, country=country)
    return clock, "; ".join(said)
