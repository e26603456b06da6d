"""What is around a table in a file: titles above its names, notes and totals below it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import numerals, times

TITLES = 20  # lines at most that may be above the names, beside comments
LEVELS = 3  # rows of names, below the first
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


def names_of(rows: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """Return the names of the columns, which may be in several rows, and how many: as pandas writes levels of names.

    Args:
        rows: the first of a table, and some below it.
    """
    if not rows:
        return [], 1
    number = 1
    while number <= LEVELS and number < len(rows) // 2 and _is_level(rows[number], number):
        number += 1
    if not all(map(_valued, rows[len(rows) // 2 :])):
        number = 1
    names = [field.strip() for field in rows[0]]
    if number == 1 or any(len(row) != len(names) for row in rows[:number]):
        return names, 1
    levels = [[field.strip() for field in row] for row in rows[:number]]
    if len(set(filter(None, names))) < len(list(filter(None, names))) or "" in names[1:]:
        levels[0] = [name or before for name, before in zip(names, _before(names), strict=True)]
    told = [level for level in levels if len(set(level[1:])) > 1]  # one ticker for all columns tells nothing
    first = next((level[0] for level in reversed(levels) if level[0]), "")
    return [
        first,
        *(" ".join(filter(None, parts)) for parts in zip(*(level[1:] for level in told), strict=True)),
    ], number


def _before(names: Sequence[str]) -> list[str]:
    """Of each name the last one that is there: cells of a spreadsheet that are joined have it in the first alone."""
    return [next((name for name in reversed(names[:n]) if name), "") for n in range(len(names))]


def _valued(row: Sequence[str]) -> bool:
    """Whether a row has a number or a date."""
    import polars

    texts = polars.Series("", [field for field in row if field.strip()], dtype=polars.String)
    return any(
        times.like_dates(texts[n : n + 1]) or numerals.read(texts[n : n + 1]).values is not None
        for n in range(len(texts))
    )


def _is_level(row: Sequence[str], above: int) -> bool:
    """Whether a row under others with names has some, too: words in all fields, or, at last, that of the first column."""
    filled, words = _filled(row), not any(field.strip().lower() in numerals.MISSING[1:] for field in row)
    whole = set(range(1, len(row))) <= set(filled)
    return words and (whole or (above > 1 and filled == [0])) and not _valued(row)


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
