"""Which columns of a table play which part: the times, what tells series apart, what is forecast."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from anygru.extend import UsageError

from . import numerals, times
from .clock import Clock

if TYPE_CHECKING:
    import polars

MOST_CHANNELS = 64  # forecast together; more are nearly always a mistake
MANY = 10  # rows; numbers of fewer may rise by one without counting them
_HOURS = 24
LOOKED_AT = 20  # columns that may tell series apart
_TIMES = ("date", "time", "datetime", "timestamp", "year", "period", "ds", "datum", "jahr")
"""Names of columns of times."""
_PARTS = (
    *times.PARTS,
    *["month", "mon", "mo", "monat", "mois", "mes", "day", "dy", "tag", "hour", "hr", "minute", "time"],
)
"""Names of columns that go on with a time."""
_LIKE_A_PART = re.compile(r"(?i)ye?a?r|mo|mnth|da?y|we?e?k|q|ho?u?r|do[wy]|jahr|tag")
_STEPS = ("", "t", "step", "index", "row", "n", "frame", "unnamed: 0", "column 1")
_OF_LIBRARIES = (("unique_id", "ds", "y"), ("item_id", "timestamp", "target"))
"""Names that tell series, times and values apart: those of statsforecast (and Prophet), and of AutoGluon and GluonTS."""


@dataclass(frozen=True)
class Columns:
    """Which columns play which part, and how they are read; the names are those of the command's options."""

    time: str | None = None
    by: str | None = None
    target: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    gaps: str = "error"
    time_format: str | None = None
    day_first: bool | None = None
    decimal_comma: bool | None = None
    zone: str | None = None
    last: int | None = None
    """Rows of each series that are read; None: all, up to what `recent` says."""
    country: str | None = None
    wide: str | None = None
    """What the columns of a table in wide form are, see `wide`; None: it is in long form."""
    words: dict[str, list[str]] = field(default_factory=dict)
    """Words of covariates, from a table that was read before."""

    @classmethod
    def of(cls, said: Any, **read: Any) -> "Columns":
        """What the attributes of these names say, those of a `Forecaster` or of the command's arguments; `read` goes before."""
        return cls(**{name: getattr(said, name) for name in cls._said() if name not in read}, **read)

    def said(self) -> dict[str, Any]:
        """What `of` takes."""
        return {name: getattr(self, name) for name in self._said()}

    @classmethod
    def _said(cls) -> list[str]:
        return [each.name for each in fields(cls) if each.name not in ("wide", "words")]


def of_library(frame: "polars.DataFrame", columns: Columns) -> tuple[Columns, list[str]]:
    """Return the columns with the parts that their names have in libraries for forecasts, and a remark about others."""
    for by, time, value in _OF_LIBRARIES:
        given = columns.time or columns.by or columns.target
        if given or not {time, value} <= set(frame.columns) - {*columns.known, *columns.past}:
            continue
        used = replace(columns, time=time, by=by if by in frame.columns else None, target=(value,))
        others = {time, value, by, *columns.known, *columns.past}
        left = [name for name in frame.columns if name not in others and frame[name].dtype.is_numeric()]
        said = f"{listed(left)} left out: --known names columns whose future the table has, --past others"
        return used, [said] if left else []
    return columns, []


def time_column(frame: "polars.DataFrame", columns: Columns, where: str) -> str:
    """Return the column of the times: as named, the first, or, if it has none, the only one with dates or named so."""
    if columns.time is not None:
        return columns.time
    others = {columns.by, *columns.target, *columns.known, *columns.past}
    names = [name for name in frame.columns if name not in others]
    first = frame.columns[0]
    if times.like_dates(frame[first]) and not constant(frame[first]):
        return first
    dated = [name for name in names if times.like_dates(frame[name]) and not constant(frame[name])]
    if len(dated) > 1:
        raise UsageError(f"the columns {listed(dated)} of {where} hold dates; name that of the times with --time")
    goes_on = times.whole(frame[first]) and (columns.by is not None or frame[first].is_sorted())
    if not dated and (first in others or not goes_on):
        dated = [name for name in names if named_as_times(name) and times.whole(frame[name])]
    return dated[0] if len(dated) == 1 else first


def named_as_times(name: str, steps: bool = False) -> bool:
    """Whether a column's name is one of times, or, with `steps`, of parts of times and of what counts them, too."""
    return name.lower() in (*_TIMES, *((*_PARTS, *_STEPS) if steps else ()))


def constant(column: "polars.Series") -> bool:
    """Whether a column of several rows holds one value, as the time when the file was made."""
    return len(column) > 1 and column.head(MANY).n_unique() == 1 and column.n_unique() == 1


def joined(frame: "polars.DataFrame", name: str | None) -> "polars.DataFrame":
    """The table with columns that tell series apart together, named as "store,item", joined into one of this name."""
    parts = (name or "").split(",")
    if name is None or name in frame.columns or not set(parts) <= set(frame.columns):
        return frame
    return frame.with_columns(id_of(parts).alias(name)).drop(parts)


def id_of(names: Sequence[str]) -> "polars.Expr":
    """The name of the series that each row belongs to, from the columns that tell series apart."""
    import polars

    texts = [polars.col(name).cast(polars.String).fill_null("(none)") for name in names]
    return polars.concat_str(texts, separator=", ")


def counts_rows(column: "polars.Series") -> bool:
    """Whether a column numbers the rows, as the index that pandas writes, or the keys of a database."""
    enough = 2 if column.name in ("", "Unnamed: 0", "column 1") else MANY
    if not column.dtype.is_integer() or column.null_count() or len(column) < enough:
        return False
    return bool((np.diff(column.to_numpy().astype(np.int64)) == 1).all())


def _flags(column: "polars.Series") -> bool:
    """Whether a column says of each row whether something is so, as promotions or holidays."""
    return column.dtype.is_integer() and column.min() == 0 and column.max() == 1


def _part_of(moments: times.Moments) -> "Callable[[polars.Series], bool]":
    """Return what tells whether a column of whole numbers is a part of the times, or differs from it by one number."""
    import polars

    if moments.kind not in ("date", "time") or len(moments.values) < MANY:
        return lambda column: False
    at = polars.Series(moments.values).dt
    told = (at.year(), at.month(), at.day(), at.hour(), at.weekday(), at.weekday() % 7, at.quarter(), at.week(),
            at.ordinal_day())  # fmt: skip
    varied = [each.cast(polars.Int64) for each in told if each.n_unique() > 1]

    def is_part(column: "polars.Series") -> bool:
        if not _LIKE_A_PART.search(column.name) or not column.dtype.is_integer() or column.null_count():
            return False
        return any((column.cast(polars.Int64) - each).n_unique() == 1 for each in varied)

    return is_part


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")


def targets(
    frame: "polars.DataFrame", columns: Columns, where: str, decimal_comma: bool | None, moments: times.Moments
) -> "tuple[polars.DataFrame, list[str], list[str]]":
    """Return the columns to forecast as numbers, the names of those that hold none, and remarks."""
    import polars

    others = {columns.time, columns.by, *columns.known, *columns.past}
    found, wrong, remarks = [], {}, []
    names = list(dict.fromkeys(columns.target))
    if not names:
        names = [name for name in frame.columns if name not in others]
        kinds = (
            (counts_rows, "count the rows"),
            (_part_of(moments), "are parts of the times"),
            (_flags, "are only 0 and 1 (--known or --past names what else to learn from)"),
        )
        for found_by, why in kinds:
            chosen = [name for name in names if found_by(frame[name])]
            if chosen and len(chosen) < len(names):
                names = [name for name in names if name not in chosen]
                remarks.append(f"not forecast, since they {why}: {listed(chosen)}")
    if len(names) > MOST_CHANNELS:
        raise UsageError(
            f"{where} has {len(names):,} columns to forecast, and at most {MOST_CHANNELS} are forecast together; "
            "choose some with --target, or write the table in long form, with --by"
        )
    for name in names:
        if name in others:
            raise UsageError(f"column {name!r} of {where} has another part already, and cannot be a --target")
        numbers = numerals.read(frame[name], decimal_comma)
        if numbers.values is None or (not columns.target and frame[name].dtype == polars.Boolean):
            wrong[name] = numbers.wrong or "true and false"
        else:
            found.append(numbers.values)
            remarks += [numbers.remark] if numbers.remark else []
    if wrong and columns.target:
        name, text = next(iter(wrong.items()))
        raise UsageError(f"column {name!r} of {where} cannot be forecast: it holds {text!r}, which is no number")
    if not found:
        name, text = next(iter(wrong.items()), ("", ""))
        held = f": {name!r} holds {text!r}" if wrong else ""
        asked = f"; --target {name} takes them as 1 and 0" if wrong and frame[name].dtype == polars.Boolean else ""
        raise UsageError(f"{where} has no column of numbers to forecast{held}{asked}")
    return polars.DataFrame(found), list(wrong), remarks


def once(
    frame: "polars.DataFrame", columns: Columns, moments: times.Moments, ordered: np.ndarray, name: str, where: str
) -> None:
    """Refuse a time that occurs twice in a series [ordered]; the error names the columns that would tell the rows apart."""
    kind = moments.kind
    ordered = np.sort(ordered) if kind == "word" else ordered
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        one = Clock(kind, zone=moments.zone).texts(ordered[:-1][twice][:1])[0]
        way_out = "; keep one row of each time"
        by, more = _apart(frame, columns)
        if not columns.by and not more:
            way_out += ", or name the column that tells series apart with --by" + (f": --by {by}" if by else "")
        if kind in ("date", "number") and not by:
            way_out += f"; if the times are in several columns, name all, as --time {more or 'date,hour'}"
        if kind == "time" and not moments.zone:
            way_out += "; if clocks were set back there, name their place with --zone, as Europe/Berlin"
        raise UsageError(f"the time {one!r} occurs twice in {name or where}{way_out}")


def _hours(column: "polars.Series") -> bool:
    """Whether a column has the hours of a day and nothing else, as numbers or as 01:00."""
    import polars

    values = column.unique()
    if column.dtype == polars.String:
        return len(values) >= _HOURS and bool(values.str.contains(r"^\d{1,2}:\d{2}$").fill_null(False).all())
    if not column.dtype.is_integer() or column.null_count():
        return False
    return values.sort().to_list() in (list(range(_HOURS)), list(range(1, _HOURS + 1)))


def _apart(frame: "polars.DataFrame", columns: Columns) -> tuple[str, str]:
    """Return which columns tell rows of one time apart: such as "store,item", or such as "year,month"; or two empty texts."""
    assert columns.time is not None
    others = {columns.time, columns.by, *columns.target, *columns.known, *columns.past}
    free = [name for name in frame.columns if name not in others]
    numbers = sum(frame[name].dtype.is_numeric() for name in (*free, *columns.target))
    told = [name for name in free if name.lower() in _PARTS or _hours(frame[name])]
    names = [name for name in free if times.whole(frame[name]) or not frame[name].dtype.is_numeric()]
    names = [name for name in names if 1 < frame[name].n_unique() <= frame.height // 2]
    names = sorted(names[:LOOKED_AT], key=lambda name: (name not in told, frame[name].dtype.is_numeric()))
    given = [columns.time, *([columns.by] if columns.by else [])]
    for chosen in chain(((name,) for name in names), combinations(names, 2)):
        taken = sum(frame[name].dtype.is_numeric() for name in chosen)
        if (taken < numbers or set(chosen) <= set(told)) and not frame.select(*given, *chosen).is_duplicated().any():
            if set(chosen) <= set(told):
                return "", ",".join([columns.time, *chosen])
            return ",".join([*given[1:], *chosen]), ""
    return "", ""
