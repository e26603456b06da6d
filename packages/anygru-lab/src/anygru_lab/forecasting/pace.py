"""The steps of a table: how far apart its times are, and which rows are missing between them."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anygru.extend import UsageError, count

if TYPE_CHECKING:
    import polars

_NEARLY = 0.01  # of a step: clocks of devices are not exact
_MICROSECONDS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


class Pace(NamedTuple):
    """The length of a step: `step` units of the times, or that many months if `monthly`; `last` if months end with it."""

    step: float
    monthly: bool = False
    last: bool = False


def find(groups: "list[polars.Series]") -> Pace | None:
    """Return the usual distance of the sorted times of all groups, or None where times are words or there is one each."""
    if not (groups[0].dtype.is_numeric() or groups[0].dtype.is_temporal()):
        return None
    months = _months(groups)
    steps = [_distances(times, months) for times in groups]
    known = np.sort(np.concatenate(steps))
    return (months or Pace(0))._replace(step=known[(len(known) - 1) // 2].item()) if len(known) else None


def places(times: "polars.Series", pace: Pace, where: str, gaps: str) -> np.ndarray:
    """Return at which step from the first each of the sorted times lies.

    Args:
        times: of one group.
        pace: of the table.
        where: the group and the file, for errors.
        gaps: "error", "fill" or "ignore": what to do about missing rows.

    Raises:
        UsageError: rows are missing and `gaps` is "error"; times lie between the steps; or more rows are missing than
            there are.
    """
    if gaps == "ignore":
        return np.arange(len(times))
    steps = _distances(times, pace) / pace.step
    whole = np.rint(steps)
    uneven = np.abs(steps - whole) > _NEARLY
    length = _length(times.dtype, pace)
    if uneven.any():
        first, second = texts(times[int(uneven.argmax()) : int(uneven.argmax()) + 2])
        raise UsageError(
            f"the times of {where} are not equally far apart: {second} follows {first}, and a step is {length}; "
            "--gaps ignore counts every row as one step"
        )
    lacking = int(whole.sum()) - len(whole)
    if lacking and (gaps == "error" or lacking > len(times)):
        row = int((whole > 1).argmax())
        missing = f"{where} lacks {count(lacking, 'row')}, the first at {_later(times[row : row + 1], [1], pace)[0]}"
        if lacking > len(times):
            raise UsageError(f"{missing}: more than it has, which is too many to fill (a step is {length})")
        raise UsageError(
            f"{missing} (a step is {length}); --gaps fill repeats the row before, "
            "--gaps ignore counts every row as one step"
        )
    return np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)


def filled(times: "polars.Series", pace: Pace, at: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return for every step from the first to the last the row that is known then, and the time as text."""
    rows = np.searchsorted(at, np.arange(at[-1] + 1), side="right") - 1
    return rows, _later(times[rows], (np.arange(len(rows)) - at[rows]).tolist(), pace)


def texts(times: "polars.Series") -> list[str]:
    """Return the times as text, without fractions of a second where none has any."""
    import polars

    found = times.cast(polars.String)
    if times.dtype in (polars.Datetime, polars.Time) and (times.dt.nanosecond() == 0).all():
        found = found.str.replace(r"\.0+", "")
    return found.to_list()


def _later(times: "polars.Series", steps: list[int], pace: Pace) -> list[str]:
    """Return as text each of the times, so many steps later."""
    import polars

    if not pace.monthly:
        numbers = _numbers(times)
        moved = polars.Series([one + n * pace.step for one, n in zip(numbers, steps, strict=True)], dtype=numbers.dtype)
        return texts(moved.cast(times.dtype))
    by = polars.Series([f"{n * round(pace.step)}mo" for n in steps])
    moved = polars.select(polars.lit(times).dt.offset_by(polars.lit(by))).to_series()
    return texts(moved.dt.month_end() if pace.last else moved)


def _distances(times: "polars.Series", pace: Pace | None) -> np.ndarray:
    if pace is not None and pace.monthly:
        return np.diff((times.dt.year().cast(int) * 12 + times.dt.month()).to_numpy())
    return np.asarray(_numbers(times).diff().slice(1).to_numpy())


def _numbers(times: "polars.Series") -> "polars.Series":
    numbers = times.to_physical()
    known_to_numpy = numbers.dtype.is_float() or numbers.dtype.is_integer() and "128" not in str(numbers.dtype)
    return numbers if known_to_numpy else times.cast(float)


def _months(groups: "list[polars.Series]") -> Pace | None:
    """Return the pace of times that name months: the same day and hour of each, or the last day of each."""
    import polars

    if groups[0].dtype not in (polars.Date, polars.Datetime):
        return None
    times = polars.concat(groups)
    last = times.dt.date() == times.dt.month_end().dt.date()
    same_day = times.dt.day().n_unique() == 1
    if not (same_day or last.all()) or times.cast(polars.Datetime).dt.time().n_unique() > 1:
        return None
    return Pace(1, monthly=True, last=not same_day)


def _length(dtype: "polars.DataType", pace: Pace) -> str:
    """Name the length of a step."""
    import polars

    if pace.monthly:
        return count(round(pace.step), "month")
    if dtype == polars.Date:
        return count(round(pace.step), "day")
    if not dtype.is_temporal():
        return f"{pace.step:g}"
    units = {"ms": 1e-3, "us": 1.0, "ns": 1e3, None: 1e3}  # polars.Time counts nanoseconds
    found = pace.step / units[getattr(dtype, "time_unit", None)]
    noun, unit = next(
        ((noun, unit) for noun, unit in _MICROSECONDS.items() if found % unit == 0), ("second", 1_000_000)
    )
    number = found / unit
    return count(int(number), noun) if number == int(number) else f"{number:g} {noun}s"
