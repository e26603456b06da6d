"""Text whose fields are parted by spaces: tables as programs print them, aligned or not, are rewritten with tabs."""

import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from anygru.extend import UsageError

SAMPLE = 1 << 16  # bytes that show how fields are parted
MANY = 200  # lines that show how many there are
MOST_BYTES = 100 << 20
RULE = re.compile(r"[-=+:| ]*[-=][-=+:| ]*")  # a line under the names
_MARKS = re.compile(r"[;\t|]|,(?!\d)|(?<!\d),")  # of other tables; a comma between digits may be the decimal mark
_ONE, _TWO = re.compile(" +"), re.compile(" {2,}")
_DATE, _CLOCK = re.compile(r"\d+[-/.]\d+[-/.]\d+"), re.compile(r"\d{1,2}:\d{2}.*")
_VALUE = re.compile(r"[-+.]?\d")  # begins so


def tabbed(path: str, file: BinaryIO) -> BinaryIO | None:
    """Return a file in UTF-8 with tabs between its fields; None if it is no table with spaces between them.

    Raises:
        UsageError: it is one, whose lines do not have the same fields.
    """
    whole = file.seek(0, io.SEEK_END)
    file.seek(0)
    data = _lines(file.read(SAMPLE).decode("utf-8-sig", "replace"))
    data = data if whole <= SAMPLE else data[:-1]
    body = data[len(data) // 2 :]
    if len(data) < 2 or any(_MARKS.search(line) or not _ONE.search(line.strip()) for line in body):
        return None
    if any("," in line for line in body) and not any(_TWO.search(line.strip()) for line in body):
        return None
    if whole > MOST_BYTES:
        raise UsageError(
            f"{path!r} has fields parted by spaces, and more than {MOST_BYTES:,} bytes; write the table as CSV"
        )
    file.seek(0)
    lines = _lines(file.read().decode("utf-8-sig"))
    rows = _whole(lines) or _aligned(lines)
    if rows is None:
        raise UsageError(f"cannot read {path!r}: its fields are parted by spaces, and its lines do not all have as many as "
                         "the names above them; write NA into empty cells, or the table as CSV")  # fmt: skip
    return io.BytesIO("\n".join("\t".join(row) for row in rows).encode()) if len(rows[0]) > 1 else None


def _lines(text: str) -> list[str]:
    """The lines without those that are empty, a comment, or drawn under the names."""
    lines = map(str.rstrip, text.split("\n"))
    return [line for line in lines if line and not line.startswith("#") and not RULE.fullmatch(line)]


def _whole(lines: Sequence[str]) -> list[list[str]] | None:
    """Rows of as many fields as most lines have, from the names on; None if a line has others."""
    for part, lacking in ((_ONE, 0), (_TWO, 0), (_ONE, 1)):
        if _rows(lines[:MANY], part, lacking) and (found := _rows(lines, part, lacking)):
            return found
    return None


def _rows(lines: Sequence[str], part: re.Pattern[str], lacking: int) -> list[list[str]] | None:
    """Rows of fields parted so; `lacking` names are fewer than the fields, or, in the first line, all."""
    rows = [part.split(line.strip()) for line in lines]
    number = Counter(len(row) for row in rows[-MANY:]).most_common(1)[0][0]
    begin = next(n for n, row in enumerate(rows) if len(row) == number)
    if number < 2 or any(len(row) != number for row in rows[begin:]):
        return None
    if not lacking:
        return None if any(map(_VALUE.match, rows[begin])) else rows[begin:]
    if not begin:
        return rows  # without names, which is said where they are read
    return _named(rows[begin - 1], rows[begin:]) if len(rows[begin - 1]) == number - 1 else None


def _named(names: list[str], rows: list[list[str]]) -> list[list[str]] | None:
    """Rows with one field more than names: a date and its hour, or numbers of rows in front; None if neither."""
    first = rows[0]
    at = next((n for n in range(len(names)) if _DATE.fullmatch(first[n]) and _CLOCK.fullmatch(first[n + 1])), None)
    if at is None:
        counted = [row[0] for row in rows] in ([str(n + k) for n in range(len(rows))] for k in (0, 1))
        return [["", *names], *rows] if counted else None
    return [names, *([*row[:at], f"{row[at]} {row[at + 1]}", *row[at + 2 :]] for row in rows)]


def _aligned(lines: Sequence[str]) -> list[list[str]] | None:
    """Rows of fields under each other, of which some may be empty: the columns are parted by places blank in all lines."""
    begin = next((n for n, line in enumerate(lines) if _ONE.search(line.strip())), 0)
    names = _ONE.split(lines[begin].strip())
    width = max(map(len, lines))
    filled = np.zeros(width + 2, bool)
    for line in lines[begin:]:
        filled[1 : len(line) + 1] |= np.array([each != " " for each in line])
    edges = np.flatnonzero(np.diff(filled.astype(np.int8)))
    places = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    if len(places) != len(names):
        return None
    return [[line[first:last].strip() for first, last in places] for line in lines[begin:]]
