"""Tables of many rows: the last rows of each series, which a forecast depends on, are kept."""

from typing import TYPE_CHECKING

import numpy as np

from anygru.extend import UsageError

from . import times

if TYPE_CHECKING:
    import polars

    from .parts import Columns

MOST_ROWS = 1_000_000  # of a table that are read without a word
ENOUGH = 3000  # rows of a series that are kept, however many series there are: eight years of days
_LOOKED_AT = 10_000  # rows that tell whether the table is in the order of time
_SERIES = 20  # that they are taken from


def kept(frame: "polars.DataFrame", columns: "Columns", where: str) -> "tuple[polars.DataFrame, list[str]]":
    """Return the last rows of each series, as many as `columns.last` says or `MOST_ROWS` allow, and a remark about it.

    Raises:
        UsageError: rows would be left out, and the table is not in the order of time.
    """
    import polars

    if columns.last is None and frame.height <= MOST_ROWS:
        return frame, []
    lengths = polars.Series([frame.height]) if columns.by is None else frame[columns.by].value_counts()["count"]
    longest = int(lengths.max())  # type: ignore[arg-type]
    last = columns.last or max(MOST_ROWS // len(lengths), ENOUGH)
    if longest <= last:
        return frame, []
    newest_last = _newest_last(frame, columns, where, longest)
    if columns.by is None:
        found = frame.tail(last) if newest_last else frame.head(last)
    else:
        place = polars.int_range(polars.len(), 0, -1) if newest_last else polars.int_range(1, polars.len() + 1)
        found = frame.filter(place.over(columns.by) <= last)
    of_each = "" if columns.by is None else " of each series"
    most = "" if columns.by is None else "up to "
    asked = "" if columns.last else "; --last N takes more"
    return found, [f"the last {last:,} of {most}{longest:,} rows{of_each} are used{asked}"]


def _newest_last(frame: "polars.DataFrame", columns: "Columns", where: str, longest: int) -> bool:
    """Whether the newest rows are at the end of the table; UsageError if they are neither there nor at its beginning."""
    import polars

    assert columns.time is not None
    names = None
    if columns.by is not None:
        names = frame[columns.by].unique(maintain_order=True).head(_SERIES)
        frame = frame.filter(polars.col(columns.by).is_in(names.implode()))
    looked_at = frame.gather_every(max(1, frame.height // _LOOKED_AT))
    looked_at = looked_at.filter(polars.col(columns.time).is_not_null())
    read = times.read(
        looked_at[columns.time], f"column {columns.time!r} of {where}", columns.time_format, columns.day_first
    )
    if read.kind == "word":
        return True
    values = read.values.astype("datetime64[us]").astype(np.int64) if read.kind in ("date", "time") else read.values
    groups = np.zeros(len(values)) if columns.by is None else looked_at[columns.by].rank("dense").to_numpy()
    order = np.argsort(groups, kind="stable")
    steps = np.diff(values[order])[np.diff(groups[order]) == 0]
    if (steps >= 0).all():
        return True
    if (steps <= 0).all():
        return False
    raise UsageError(
        f"{where} has series of {longest:,} rows, and is not in the order of time, so that their last rows are not found "
        f"without reading all; sort it by {columns.time!r}, or take all rows with --last {longest}"
    )
