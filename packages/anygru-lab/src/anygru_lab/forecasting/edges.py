"""What is around a table in a file: titles above its names, notes and totals below it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import times

TITLES = 20  # lines at most that may be above the names, beside comments
NOTES = 20  # rows at most that may be below the table


def usual(rows: Sequence[Sequence[str]]) -> int:
    """Return how many fields with a text the rows in the second half of some have."""
    return int(np.median([len(_filled(row)) for row in rows[len(rows) // 2 :]])) if rows else 0


def is_title(row: Sequence[str], fields: int) -> bool:
    """Whether a row above others with so many fields has no names: its first field alone, or fewer than half of them."""
    filled = _filled(row)
    return 2 * len(filled) < fields or (filled == [0] and fields > 1)


def _filled(row: Sequence[str]) -> list[int]:
    return [n for n, field in enumerate(row) if field.strip()]


def without_notes(frame: Any) -> tuple[Any, str]:
    """The table without what is below it, and a remark about that: words in the first field alone, or where dates are."""
    import polars

    if frame.width < 2 or not frame.height:
        return frame, ""
    last = frame.tail(NOTES)
    first = last.to_series(0)
    if first.dtype != polars.String:
        return frame, ""
    empty = last.select(polars.all_horizontal(polars.exclude(last.columns[0]).is_null())).to_series()
    words = first.str.contains(r"\pL{3}").fill_null(False)
    total = words & ~first.str.contains(r"\d") if times.like_dates(frame.to_series(0)) else words & False
    below = words & empty | total
    found = last.height - 1 - next((n for n in range(last.height - 1, -1, -1) if not below[n]), -1)
    if not found or found == last.height or times.like_dates(first.tail(found)):
        return frame, ""
    note = first[last.height - found]
    return frame.head(frame.height - found), f"left out below the table: {note!r}" + (" ..." if found > 1 else "")
