"""Tables in wide form, a column for each time or for each of many series, are brought into long form: a row for each step."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from anygru.extend import UsageError

from . import numerals, parts, times
from .parts import Columns
from .written import MONTHS, in_english

if TYPE_CHECKING:
    import polars

TIMES, SERIES = "times", "series"  # what the columns are
LEAST = 3  # columns named by times
STEPS = 10  # columns that are only numbered, which may be channels
_MONTHS = tuple(map(str.lower, MONTHS))
_QUARTERS = ("q1", "q2", "q3", "q4")
_YEARS = 1500, 2200
_NUMBERS = (
    ("hours", ("", "h", "he", "hr", "hour"), (range(24), range(1, 25))),
    ("months", ("", "m", "month"), (range(1, 13),)),
    ("weeks", ("", "w", "wk", "kw", "week"), (range(1, 53), range(1, 54))),
    ("days", ("", "d", "day"), (range(1, 32),)),
)
"""Parts of times that names count, what may be before their numbers, and the numbers."""
_IDS = re.compile(r"(?i)(.*[_ ])?ids?|.*[a-z]ID")
_NUMBERED = re.compile(r"(\D*)(\d+)(?:\D.*)?")  # d_1, X1990, 1990 [YR1990]
_PARTS_OF_YEARS = ("month", "mon", "monat", "mois", "mes", *times.PARTS)


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
    kind, run, rest, fixed = _form(frame, others, columns, where)
    if not kind:
        return frame, columns, []
    by = (columns.by,) if columns.by else _apart(frame, rest, fixed, where)
    time, value = _free("week" if kind == "weeks" else "time", frame), _free("value", frame)
    index = list(dict.fromkeys([*by, *fixed, *columns.known, *columns.past]))
    found = _unpivoted(frame, index, list(run), time, value)
    numbers = numerals.read(found[value], decimal_comma)
    if numbers.values is None:
        raise UsageError(f"the columns {parts.listed(list(run)[:3])} ... of {where} are times, and hold {numbers.wrong!r}, "
                         "which is no number")  # fmt: skip
    found = found.with_columns(numbers.values, found[time].replace_strict(run))
    found = found.drop_nulls(value) if kind == "days" else found  # no month has a day for each name
    time = ",".join((*fixed, time) if kind != "years" else (time, *fixed))
    used = replace(columns, time=time, by=",".join(by) or None, target=(value,), wide=TIMES)
    names = list(run)
    said = f"the columns {names[0]!r} to {names[-1]!r} are read as {'steps' if kind == 'steps' else 'times'}"
    said += f" (--time {(*rest, *by)[0]} reads rows as steps)" if kind == "steps" else ""
    left = [name for name in rest if name not in index and frame[name].dtype.is_numeric()]
    said += f"; left out: {parts.listed(left)}" if left else ""
    return parts.joined(found, used.by), used, [said]


def _form(
    frame: "polars.DataFrame", others: Sequence[str], columns: Columns, where: str
) -> tuple[str, dict[str, str], list[str], tuple[str, ...]]:
    """Return what the names of the columns tell, "" if no times; the times by column, other columns, and those with the other
    part of each time."""
    kind, run = _run(frame, others, columns, where)
    if not kind:
        return "", {}, [], ()
    rest = [name for name in others if name not in run]
    fixed = _fixed(frame, rest, kind)
    if fixed is None and all(map(str.isdecimal, run.values())):  # numbers that count no parts of times
        kind, fixed = "steps", ()
    if kind == "steps" and not (len(run) >= STEPS and 2 * len(run) > len(others)):
        kind = ""
    if kind == "steps" and (columns.time or _has_times(frame, rest, columns.by is not None, where)):
        kind = ""
    if fixed is None or (kind in ("dates", "years") and any(_dated(frame[name]) for name in rest)):
        raise UsageError(
            f"the columns of {where} are named by times ({parts.listed(list(run)[:3])}); write the table in long form: a row "
            "for each time of each series, with --by"
        )
    return kind, run, rest, fixed


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
    names = [name for name in names if not parts.counts_rows(frame[name])]
    names = [name for name in names if numerals.read(frame[name], decimal_comma).values is not None]
    if not names:
        return frame, columns, []
    series, value = _free("series", frame), _free("value", frame)
    used = replace(columns, by=series, target=(value,), wide=SERIES)
    return _unpivoted(frame, index, names, series, value), used, [f"each of {len(names):,} columns is read as a series"]


def _run(frame: "polars.DataFrame", names: Sequence[str], columns: Columns, where: str) -> tuple[str, dict[str, str]]:
    """Return the columns that are named by times, the text of each time, and its kind; none if there are too few."""
    import polars

    clean = {name: name.strip() for name in names}
    english = zip(names, in_english(polars.Series("", list(clean.values()), dtype=polars.String)), strict=True)
    months = {name: text for name, text in english if text.isalpha() and text[:3].lower() in _MONTHS}
    quarters = {name: text for name, text in clean.items() if re.fullmatch(r"[Qq]\d+", text)}
    clocks = {name: text for name, text in clean.items() if re.fullmatch(r"\d{1,2}:\d{2}", text)}
    if len(months) == len({text[:3].lower() for text in months.values()}) == len(_MONTHS):
        return "months", months
    if sorted(map(str.lower, quarters.values())) == list(_QUARTERS):  # and no fifth question
        return "quarters", quarters
    if len(clocks) >= LEAST:
        return "clocks", clocks
    dates = {name: text for name, text in clean.items() if times.LIKE_A_DATE.search(text)}
    if len(dates) >= LEAST and _are_times(list(dates.values()), columns, where):
        return "dates", dates
    for name in names[: parts.LOOKED_AT]:  # in M4's tables V1 has the names of the series
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
    before = prefix.strip(" _").lower()
    return next(
        (kind for kind, words, ranges in _NUMBERS if before in words and numbers in map(list, ranges)), "steps"
    ), run


def _fixed(frame: "polars.DataFrame", rest: Sequence[str], kind: str) -> tuple[str, ...] | None:
    """Return the columns with the other part of each time: the year of months, the day of hours, the month of years.

    None if they are needed and lack.
    """
    years = [name for name in rest if _years(frame[name])]
    years = [name for name in years if parts.named_as_times(name)] or years
    months = [name for name in rest if name not in years and _months(frame[name])]
    needed = {
        **dict.fromkeys(("months", "quarters", "weeks"), [years]),
        **dict.fromkeys(("hours", "clocks"), [[name for name in rest if _dated(frame[name])]]),
        "days": [years, months],
    }.get(kind)
    if needed is None:
        return tuple(months[:1]) if kind == "years" else ()
    return tuple(found[0] for found in needed) if all(len(found) == 1 for found in needed) else None


def _years(column: "polars.Series") -> bool:
    if not column.dtype.is_numeric() or column.null_count() or not times.whole(column):
        return False
    return bool(column.is_between(*_YEARS).all())


def _months(column: "polars.Series") -> bool:
    import polars

    if column.dtype != polars.String:
        return column.name.lower() in _PARTS_OF_YEARS and times.whole(column)
    text = in_english(column).str.to_lowercase().str.strip_chars()
    return bool((text.str.head(3).is_in(_MONTHS) & text.str.contains(r"^\pL+$") | text.is_in(_QUARTERS)).all())


def _dated(column: "polars.Series") -> bool:
    return times.like_dates(column) and not parts.constant(column)


def _has_times(frame: "polars.DataFrame", rest: Sequence[str], named: bool, where: str) -> bool:
    """Whether a column beside numbered ones tells times, so that these are channels, or none names the rows.

    Raises:
        UsageError: it may count the steps, or the series.
    """
    if not rest:
        return not named
    if any(_dated(frame[name]) or parts.named_as_times(name, steps=True) for name in rest):
        return True
    first = frame[rest[0]]
    if named or not first.dtype.is_numeric() or not first.is_sorted() or _IDS.fullmatch(first.name):
        return False
    if not times.whole(first) or _years(first):
        return True
    raise UsageError(f"the rows of {where} can be steps, of as many channels as there are columns, or series: say which with "
                     f"--time {first.name} or --by {first.name}")  # fmt: skip


def _apart(frame: "polars.DataFrame", rest: Sequence[str], fixed: Sequence[str], where: str) -> tuple[str, ...]:
    """Return the columns that tell the rows of one time apart, as few as can be."""
    names = [name for name in rest if name not in fixed and not frame[name].dtype.is_float()][: parts.LOOKED_AT]
    for size in range(4):
        for chosen in combinations(names, size):
            given = [*chosen, *fixed]
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
