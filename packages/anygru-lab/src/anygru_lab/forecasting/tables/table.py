"""Series of numbers with times and covariates, and how they are made from a table in long form."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anygru.extend import UsageError, count

from . import clock as clocks
from . import numerals, parts, recent, times, wide, zones
from .clock import Clock
from .parts import Columns

if TYPE_CHECKING:
    import polars

MOST = 1e100  # of a value, so that squares of a series can be summed
MOST_WORDS = 20  # of a covariate that holds words, each of which becomes a number


@dataclass(frozen=True)
class Series:
    """One group of a table, the oldest step first.

    values: float64 [steps, channels].
    times: of each step, as the table's clock counts them.
    known: float64 [steps + known steps ahead, covariates].
    past: float64 [steps, covariates], known only after a step.
    """

    name: str
    values: np.ndarray
    times: np.ndarray
    known: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    past: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Table:
    """All series of a table, the names of their channels and covariates, and remarks on how they were read."""

    series: tuple[Series, ...]
    channels: tuple[str, ...]
    clock: Clock = Clock("number", 1)
    columns: Columns = Columns()
    known: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def describe(self) -> str:
        lengths = [len(each) for each in self.series]
        number = f"{len(lengths):,} series"
        least = "" if min(lengths) == max(lengths) else f"{min(lengths):,} to "
        step = f" of {self.clock.name()}" if self.clock.step and self.clock.dated and max(lengths) > 1 else ""
        many = f", channels {', '.join(self.channels)}" if len(self.channels) > 1 else f", {self.channels[0]}"
        said = "".join(f"; {each}" for each in self.remarks)
        return f"{number} of {least}{count(max(lengths), 'step')}{step}{many}{said}"


def of_frame(frame: "polars.DataFrame", columns: Columns, where: str, decimal_comma: bool | None = False) -> Table:
    """Make the series of a table in long form: a row for each step of each group.

    Args:
        frame: the table.
        columns: the parts of its columns; without `time`, the times are in the first one, or in the only one with dates.
        where: its name, for errors.
        decimal_comma: how texts such as "1,110" are read unless `columns` says it, see `numerals.read`.

    Raises:
        UsageError: a column is missing, holds no numbers, or has missing values; a time occurs twice in a group; rows are
            missing; dates have two readings.
    """
    comma = columns.decimal_comma if columns.decimal_comma is not None else decimal_comma
    frame, columns, remarks = _in_long_form(frame, columns, where, comma)
    assert columns.time is not None
    missing = frame[columns.time].is_null().to_numpy()
    if missing.any():
        raise UsageError(
            f"column {columns.time!r} of {where} lacks {_count_missing(missing)}; every row needs its time (a row of totals has "
            "none: remove it)"
        )
    moments = times.read(
        frame[columns.time], f"column {columns.time!r} of {where}", columns.time_format, columns.day_first
    )
    numbers, left_out, said = parts.targets(frame, columns, where, comma, moments)
    channels = tuple(numbers.columns)
    known, words = _covariates(frame, columns.known, columns, where, comma)
    past, more = _covariates(frame, columns.past, columns, where, comma)
    moments = _of_place(moments, frame, columns, where)
    remarks = said + remarks + ([moments.remark] if moments.remark else [])
    values = numbers.to_numpy().astype(np.float64)
    groups = _groups(frame, columns.by, moments)
    for name, rows in groups:
        parts.once(frame, columns, moments, moments.values[rows], name, where)
    clock, moments, said = _clock(moments, groups, np.isfinite(values).any(1), columns)
    remarks += said
    reader = _Reader(values, moments.values, known, past, clock, columns, channels, where)
    if columns.wide is not None:
        groups = reader.begun(groups)
    series = tuple(reader.series(name, rows) for name, rows in groups)
    remarks += reader.remarks()
    if left_out and not columns.target:
        remarks.append(f"not forecast, since they hold no numbers: {', '.join(map(repr, left_out[:10]))}")
    used = replace(columns, target=channels, words=words | more)
    return Table(series, channels, clock, used, tuple(known_names(words, columns.known)),
                 tuple(known_names(more, columns.past)), tuple(remarks))  # fmt: skip


def _in_long_form(
    frame: "polars.DataFrame", columns: Columns, where: str, comma: bool | None
) -> "tuple[polars.DataFrame, Columns, list[str]]":
    """Return the rows that are used, with a column for the times and one that tells series apart, and remarks."""
    if not frame.height:
        raise UsageError(f"{where} has no rows")
    if frame.width < 2:
        raise UsageError(f"{where} has one column, {frame.columns[0]!r}; a table has times and values")
    columns, remarks = parts.of_library(frame, columns)
    frame, columns, said = wide.of_times(parts.joined(frame, columns.by), columns, where, comma)
    remarks += said
    time = parts.time_column(frame, columns, where)
    moved = columns.time is None and time != frame.columns[0]
    columns = replace(columns, time=time)
    frame, columns, said = wide.of_series(times.joined(frame, time), columns, comma)
    remarks += said
    for name in filter(None, [columns.time, columns.by, *columns.target, *columns.known, *columns.past]):
        if name not in frame.columns:
            raise UsageError(f"{where} has no column {name!r}; it has {parts.listed(frame.columns)}")
    frame, said = recent.kept(frame, columns, where)
    remarks += said + ([f"times are those of {columns.time!r}"] if moved else [])
    return frame, columns, remarks


def _of_place(moments: times.Moments, frame: "polars.DataFrame", columns: Columns, where: str) -> times.Moments:
    """Return times of the place that `columns` names, in UTC: where clocks are set back, the later row is the later time."""
    import polars

    place = columns.zone
    if place is None or columns.time is None:
        return moments
    zones.check(place)
    if moments.kind != "time":
        return moments
    ahead = 0 if "/" in moments.zone else zones.ahead(moments.zone)
    values = moments.values - np.timedelta64(ahead, "m")
    zone = place if "/" in place else "Z"
    if moments.zone:
        return moments._replace(values=values, zone=zone)
    if zones.days(values):
        return moments
    given = [columns.time, columns.by] if columns.by else [columns.time]
    second = frame.select((polars.int_range(polars.len()).over(given) > 0).alias("second"))["second"]
    found = zones.in_utc(values, place, frame[columns.time].cast(polars.String), where, second)
    return moments._replace(values=found, zone=zone)


def _clock(
    moments: times.Moments, groups: list[tuple[str, np.ndarray]], valued: np.ndarray, columns: Columns
) -> tuple[Clock, times.Moments, list[str]]:
    """Return the clock of the times, these as it counts them, and remarks; `valued` says which rows have a value."""
    ordered = [moments.values[rows] for _, rows in groups]
    clock, remarks = clocks.find(ordered, moments.kind, moments.zone, columns.gaps), []
    if columns.gaps in ("error", "ignore"):
        there = [moments.values[rows[valued[rows]]] for _, rows in groups]
        clock, holidays = clocks.without_holidays(there, clock, columns.country)
        remarks += [holidays] if holidays else []
    if columns.gaps == "ignore" and clocks.sparse(ordered, clock):
        # Equal steps would give the forecast times that the table never has, as hours at night.
        texts = np.array(clock.texts(moments.values), dtype=object)
        moments, clock = moments._replace(values=texts, kind="word"), Clock("word")
        remarks.append("times are names only, since a tenth of the steps and more have no row")
    return clock, moments, remarks


def _count_missing(missing: np.ndarray, before: int = 0) -> str:
    return f"{count(int(missing.sum()), 'value')}, the first in row {int(missing.argmax()) + 1 + before}"


def _covariates(
    frame: "polars.DataFrame", names: Sequence[str], columns: Columns, where: str, decimal_comma: bool | None
) -> tuple[np.ndarray, dict[str, list[str]]]:
    """Return covariates as numbers [rows, K], words as a 0 or 1 for each, and the words of each column."""
    parts, words = [np.empty((frame.height, 0))], {}
    for name in dict.fromkeys(names):
        if name in (columns.time, columns.by, *columns.target):
            raise UsageError(f"column {name!r} of {where} has another part already, and cannot be a covariate")
        numbers = numerals.read(frame[name], decimal_comma)
        if numbers.values is not None and name not in columns.words:
            parts.append(numbers.values.to_numpy().astype(np.float64)[:, None])
            continue
        text = frame[name].cast(str).to_numpy()
        seen = columns.words.get(name) or sorted({each for each in text.tolist() if each is not None})
        if len(seen) > MOST_WORDS:
            raise UsageError(
                f"column {name!r} of {where} holds {len(seen):,} different words; a covariate may have {MOST_WORDS}"
            )
        words[name] = seen
        parts.append(np.stack([text == word for word in seen], 1).astype(np.float64))
    return np.concatenate(parts, axis=1), words


def known_names(words: dict[str, list[str]], names: Sequence[str]) -> list[str]:
    """Return a name for each covariate: the column's, or of each of its words."""
    found = []
    for name in dict.fromkeys(names):
        found += [f"{name}={word}" for word in words[name]] if name in words else [name]
    return found


def _groups(frame: "polars.DataFrame", by: str | None, moments: times.Moments) -> list[tuple[str, np.ndarray]]:
    """Return the name and the rows of each group, sorted by time; words stay as the file has them."""
    import polars

    if by is None:
        rows = np.arange(frame.height)
        return [("", rows if moments.kind == "word" else np.argsort(moments.values, kind="stable"))]
    text = frame.select(parts.id_of([by])).to_series()
    names = text.unique().sort()
    inverse = text.cast(polars.Enum(names)).to_physical().to_numpy()
    order = np.arange(frame.height) if moments.kind == "word" else np.argsort(moments.values, kind="stable")
    order = order[np.argsort(inverse[order], kind="stable")]
    bounds = np.cumsum(np.bincount(inverse))[:-1]
    return [(str(name), rows) for name, rows in zip(names, np.split(order, bounds), strict=True)]


class _Reader:
    """Makes the series of a table from its rows, filling gaps where that is wanted."""

    def __init__(
        self,
        values: np.ndarray,
        moments: np.ndarray,
        known: np.ndarray,
        past: np.ndarray,
        clock: Clock,
        columns: Columns,
        channels: Sequence[str],
        where: str,
    ) -> None:
        self.values, self.moments, self.known, self.past = values, moments, known, past
        self.clock, self.columns, self.channels, self.where = clock, columns, channels, where
        self.rows = self.numbers = self.left_out = self.early = self.late = self.empty = 0

    def series(self, name: str, rows: np.ndarray) -> Series:
        where = f"{name!r} in {self.where}" if name else self.where
        rows = rows[self.clock.without_off(self.moments[rows])] if self.clock.off else rows
        begin = 0
        if self.columns.gaps in ("error", "fill"):
            begin, rows = self._between_ends(rows)
        if self.columns.gaps == "ignore":
            rows = self._with_values(rows)
        steps = len(rows)
        if self.columns.known:  # rows without values at the end tell what is known ahead
            steps = _ends(self.values[rows])[1]
        values = self.values[rows[:steps]]
        self._check(values, begin, where)
        missing = ~np.isfinite(values)
        self.numbers += int(missing.sum())
        moments = self.moments[rows]
        at = clocks.places(moments, self.clock, where, self.columns.gaps)
        source, filled = clocks.filled(moments, self.clock, at)
        self.rows += len(source) - len(rows)
        kept = int(np.searchsorted(at[source], at[steps - 1], side="right")) if steps < len(rows) else len(source)
        if self.columns.gaps == "zero":
            added = np.arange(kept) != at[source[:kept]]
            read = np.where(added[:, None], 0.0, np.where(missing, 0.0, values)[source[:kept]])
        else:
            read = _forward(np.where(missing, np.nan, values))[source[:kept]]
        return Series(
            name, read, filled[:kept], _forward(self.known[rows])[source], _forward(self.past[rows])[source[:kept]]
        )

    def _between_ends(self, rows: np.ndarray) -> tuple[int, np.ndarray]:
        """How many rows are before the first value, and those from it to the last, or on to what is known ahead."""
        begin, end = _ends(self.values[rows])
        end = len(rows) if self.columns.known or not end else end
        self.early, self.late = self.early + begin, self.late + len(rows) - end
        return begin, rows[begin:end]

    def _check(self, values: np.ndarray, before: int, where: str) -> None:
        """Refuse values [steps, channels] that lack more than may be filled, or are too large; `before`: rows left out."""
        missing = ~np.isfinite(values)
        empty = missing.all(0)  # of no steps, too
        if empty.any():
            raise UsageError(f"column {self.channels[int(empty.argmax())]!r} of {where} has no values at all")
        far = np.abs(np.where(missing, 0, values)) > MOST
        if far.any():
            row, channel = np.argwhere(far)[0]
            raise UsageError(
                f"column {self.channels[channel]!r} of {where} holds {values[row, channel]:g}, and {MOST:g} is the most; "
                "divide the column by a power of ten"
            )
        if missing.any() and self.columns.gaps not in ("fill", "zero"):
            channel = int(missing.any(0).argmax())
            raise UsageError(
                f"column {self.channels[channel]!r} of {where} lacks {_count_missing(missing[:, channel], before)} "
                "(or holds what is no finite number); --gaps fill repeats the value before, --gaps zero takes 0, "
                "--gaps ignore leaves the row out"
            )

    def begun(self, groups: list[tuple[str, np.ndarray]]) -> list[tuple[str, np.ndarray]]:
        """The groups of a table in wide form from their first to their last value: cells before and after belong to others."""
        found = []
        for name, rows in groups:
            begin, end = _ends(self.values[rows])
            if end:
                found.append((name, rows[begin : len(rows) if self.columns.known else end]))
        self.empty = len(groups) - len(found)
        return found or groups

    def _with_values(self, rows: np.ndarray) -> np.ndarray:
        """The rows whose values are all there, and those that tell what is known ahead."""
        there = np.isfinite(self.values[rows])
        if not there.any(0).all():
            return rows  # a column without any is an error
        kept = there.all(1)
        if self.columns.known:
            kept[_ends(self.values[rows])[1] :] = True
        self.left_out += int((~kept).sum())
        return rows[kept]

    def remarks(self) -> list[str]:
        filled = ((self.rows, "row"), (self.numbers, "value"))
        by = " with 0" if self.columns.gaps == "zero" else ""
        said = [f"filled {count(number, noun)}{by}" for number, noun in filled if number]
        said += [f"left out {count(self.left_out, 'row')} without values"] if self.left_out else []
        said += [f"left out {count(self.early, 'row')} before the first value"] if self.early else []
        if self.late:
            said.append(
                f"left out {count(self.late, 'row')} after the last value (--known names columns of the future)"
            )
        said += [f"left out {self.empty:,} series without values"] if self.empty else []
        if self.clock.kind == "word" and self.rows + len(self.values) > 1:
            said.append("missing rows are not noticed")
        return said


def _ends(values: np.ndarray) -> tuple[int, int]:
    """The first row with a value, and the one after the last; zeros if there is none."""
    there = np.flatnonzero(np.isfinite(values).any(1))
    return (int(there[0]), int(there[-1]) + 1) if len(there) else (0, 0)


def _forward(values: np.ndarray) -> np.ndarray:
    """Repeat the value before each missing one; before the first value, that one."""
    if not np.isnan(values).any():
        return values
    rows = np.where(np.isnan(values), 0, np.arange(len(values))[:, None])
    found = np.take_along_axis(values, np.maximum.accumulate(rows, axis=0), axis=0)
    first = np.take_along_axis(values, np.isfinite(values).argmax(0)[None], axis=0)
    return np.nan_to_num(np.where(np.isnan(found), first, found))
