"""Tables in wide form, a column for each time or for each of many series, are brought into long form: a row for each step."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from anygru.extend import UsageError

from . import numerals, parts, times
from .parts import Columns

if TYPE_CHECKING:
    import polars

TIMES, SERIES = "times", "series"  # what the columns are
LEAST = 3  # columns named by times
STEPS = 10  # columns that are only numbered, which may be channels
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_QUARTERS = ("q1", "q2", "q3", "q4")
_YEARS = 1500, 2200
_HOURS = ("", "h", "he", "hr", "hour")  # what may be before the number of an hour
_NUMBERED = re.compile(r"(\D*)(\d+)(?:\D.*)?")  # d_1, X1990, 1990 [YR1990]
_PARTS_OF_YEARS = ("month", "mon", "monat", "mois", "mes", *times.PARTS)
_LOOKED_AT = 20  # columns that may tell series apart


def of_times(
    frame: "polars.DataFrame", columns: Columns, where: str, decimal_comma: bool | None
) -> "tuple[polars.DataFrame, Columns, list[str]]":
    """Bring a table with a column for each time into long form; others stay as they are.

    Raises:
        UsageError: the columns are named by times, and the rows do not tell which series or which year they are.
    """
    if columns.wide == TIMES:
        columns = replace(columns, time=None, target=())
    if columns.target:
        return frame, columns, []
    others = [name for name in frame.columns if name not in (columns.by, *columns.known, *columns.past)]
    kind, run = _run(frame, others, columns, where)
    rest = [name for name in others if name not in run]
    fixed = _fixed(frame, rest, kind)
    if kind == "steps" and (columns.time is not None or _has_times(frame, rest, columns.by is not None)):
        return frame, columns, []
    if not run or (kind == "hours" and fixed is None):
        return frame, columns, []
    lacking = kind in ("months", "quarters", "clocks") and fixed is None
    if lacking or (kind in ("dates", "years") and any(_dated(frame[name]) for name in rest)):
        raise UsageError(
            f"the columns of {where} are named by times ({parts.listed(list(run)[:3])}); write the table in long form: a row "
            "for each time of each series, with --by"
        )
    by = (columns.by,) if columns.by else _apart(frame, rest, fixed, where)
    time, value = _free("time", frame), _free("value", frame)
    index = list(dict.fromkeys([*by, *([fixed] if fixed else []), *columns.known, *columns.past]))
    found = _unpivoted(frame, index, list(run), time, value)
    numbers = numerals.read(found[value], decimal_comma)
    if numbers.values is None:
        raise UsageError(f"the columns {parts.listed(list(run)[:3])} ... of {where} are times, and hold {numbers.wrong!r}, "
                         "which is no number")  # fmt: skip
    found = found.with_columns(numbers.values, found[time].replace_strict(run))
    if fixed is not None:
        time = ",".join((fixed, time) if kind != "years" else (time, fixed))
    used = replace(columns, time=time, by=",".join(by) or None, target=(value,), wide=TIMES)
    names = list(run)
    said = f"the columns {names[0]!r} to {names[-1]!r} are read as {'steps' if kind == 'steps' else 'times'}"
    said += f" (--time {(*rest, *by)[0]} reads rows as steps)" if kind == "steps" else ""
    left = [name for name in rest if name not in index and frame[name].dtype.is_numeric()]
    said += f"; left out: {parts.listed(left)}" if left else ""
    return parts.joined(found, used.by), used, [said]


def of_series(
    frame: "polars.DataFrame", columns: Columns, decimal_comma: bool | None
) -> "tuple[polars.DataFrame, Columns, list[str]]":
    """Bring a table with a column for each of so many series into long form, that they are no channels of one series."""
    if columns.wide == SERIES:
        columns = replace(columns, by=None, target=())
    if columns.by is not None or columns.target:
        return frame, columns, []
    assert columns.time is not None
    index = [columns.time, *columns.known, *columns.past]
    names = [name for name in frame.columns if name not in index]
    if len(names) <= parts.MOST_CHANNELS and columns.wide != SERIES:
        return frame, columns, []
    names = [name for name in names if numerals.read(frame[name], decimal_comma).values is not None]
    series, value = _free("series", frame), _free("value", frame)
    used = replace(columns, by=series, target=(value,), wide=SERIES)
    return _unpivoted(frame, index, names, series, value), used, [f"each of {len(names):,} columns is read as a series"]


def _run(frame: "polars.DataFrame", names: Sequence[str], columns: Columns, where: str) -> tuple[str, dict[str, str]]:
    """Return the columns that are named by times, the text of each time, and its kind; none if there are too few."""
    clean = {name: name.strip() for name in names}
    months = {name: text for name, text in clean.items() if text.isalpha() and text[:3].lower() in _MONTHS}
    quarters = {name: text for name, text in clean.items() if text.lower() in _QUARTERS}
    clocks = {name: text for name, text in clean.items() if re.fullmatch(r"\d{1,2}:\d{2}", text)}
    if len(months) == len({text[:3].lower() for text in months.values()}) == len(_MONTHS):
        return "months", months
    if len(quarters) == len(_QUARTERS):
        return "quarters", quarters
    if len(clocks) >= LEAST:
        return "clocks", clocks
    dates = {name: text for name, text in clean.items() if times.LIKE_A_DATE.search(text)}
    if len(dates) >= LEAST and _are_times(list(dates.values()), columns, where):
        return "dates", dates
    for name in names[:_LOOKED_AT]:  # in M4's tables V1 has the names of the series
        if numerals.read(frame[name].head(parts.MANY)).values is not None:
            break
        clean.pop(name)
    return _numbered(clean)


def _are_times(texts: Sequence[str], columns: Columns, where: str) -> bool:
    """Whether names are dates; UsageError if they have two readings."""
    import polars

    if not times.like_dates(polars.Series("", texts[:1])):
        return False
    read = times.read(
        polars.Series("", texts), f"the names of the columns of {where}", columns.time_format, columns.day_first
    )
    return read.kind in ("date", "time")


def _numbered(clean: dict[str, str]) -> tuple[str, dict[str, str]]:
    groups: dict[str, dict[str, int]] = {}
    for name, text in clean.items():
        if match := _NUMBERED.fullmatch(text):
            groups.setdefault(match[1], {})[name] = int(match[2])
    prefix, found = max(groups.items(), key=lambda group: len(group[1]), default=("", {}))
    numbers = list(found.values())
    run = {name: str(number) for name, number in found.items()}
    if any(later <= number for number, later in zip(numbers, numbers[1:], strict=False)) or len(numbers) < LEAST:
        return "", {}
    if _YEARS[0] <= numbers[0] and numbers[-1] <= _YEARS[1]:
        return "years", run
    if prefix.strip(" _").lower() in _HOURS and numbers in (list(range(24)), list(range(1, 25))):
        return "hours", run
    return ("steps", run) if len(run) >= STEPS and 2 * len(run) > len(clean) else ("", {})


def _fixed(frame: "polars.DataFrame", rest: Sequence[str], kind: str) -> str | None:
    """Return the column with the other part of each time: the year of months, the day of hours, the month of years."""
    if kind in ("months", "quarters"):
        return next((name for name in rest if _years(frame[name])), None)
    if kind in ("hours", "clocks"):
        return next((name for name in rest if _dated(frame[name])), None)
    if kind == "years":
        return next((name for name in rest if _months(frame[name])), None)
    return None


def _years(column: "polars.Series") -> bool:
    if not column.dtype.is_numeric() or column.null_count() or not times.whole(column):
        return False
    return bool(column.is_between(*_YEARS).all())


def _months(column: "polars.Series") -> bool:
    import polars

    if column.dtype != polars.String:
        return column.name.lower() in _PARTS_OF_YEARS and times.whole(column)
    text = column.str.to_lowercase().str.strip_chars()
    return bool((text.str.head(3).is_in(_MONTHS) & text.str.contains(r"^\pL+$") | text.is_in(_QUARTERS)).all())


def _dated(column: "polars.Series") -> bool:
    return times.like_dates(column) and not parts.constant(column)


def _has_times(frame: "polars.DataFrame", rest: Sequence[str], named: bool) -> bool:
    """Whether a column beside numbered ones tells times, so that these are channels, or none names the rows."""
    if not rest:
        return not named
    if any(_dated(frame[name]) or parts.named_as_times(name) for name in rest):
        return True
    first = frame[rest[0]]
    return first.dtype.is_numeric() and first.is_sorted()


def _apart(frame: "polars.DataFrame", rest: Sequence[str], fixed: str | None, where: str) -> tuple[str, ...]:
    """Return the columns that tell the rows of one time apart, as few as can be."""
    names = [name for name in rest if name != fixed and not frame[name].dtype.is_float()][:_LOOKED_AT]
    for size in range(4):
        for chosen in combinations(names, size):
            given = [*chosen, *([fixed] if fixed else [])]
            if frame.height == 1 or (given and not frame.select(given).is_duplicated().any()):
                return chosen
    raise UsageError(f"the columns of {where} are named by times, and no others tell its rows apart; add a column with the "
                     "name of each series")  # fmt: skip


def _free(name: str, frame: "polars.DataFrame") -> str:
    while name in frame.columns:
        name += "_"
    return name


def _unpivoted(
    frame: "polars.DataFrame", index: Sequence[str], names: Sequence[str], variable: str, value: str
) -> "polars.DataFrame":
    import polars

    dtype = polars.Float64 if all(frame[name].dtype.is_numeric() for name in names) else polars.String
    found = frame.select(*index, polars.col(names).cast(dtype))
    return found.unpivot(names, index=index, variable_name=variable, value_name=value)
