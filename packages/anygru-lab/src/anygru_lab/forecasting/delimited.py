"""CSV as people have it: what ends its fields, which marks its decimals have, its names, and lines that do not fit."""

import csv
import io
import re
from collections import Counter
from typing import Any, BinaryIO, NamedTuple

from anygru.extend import UsageError

from . import numerals, times

SEPARATORS = (b",", b";", b"\t", b"|")
MOST_COLUMNS = 10_000
SAMPLE = 1000  # rows whose texts show the decimal mark
_NOT_UTF8 = "it is not UTF-8, and perhaps Latin-1 or Windows-1252; write it as UTF-8 (in Excel: save as CSV UTF-8)"


class Head(NamedTuple):
    """What the first line says: what ends a field, the names, and how many lines are above it."""

    separator: str
    names: list[str]
    above: int


def read(path: str, file: BinaryIO) -> "tuple[Any, bool | None]":
    """Return the table of a CSV file as a frame, and whether its numbers have decimal commas; None if it does not show.

    Raises:
        UsageError: no table can be made of the file.
    """
    import polars

    if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16, as Excel writes "Unicode text"
        file.seek(0)
        try:
            file = io.BytesIO(file.read().decode("utf-16").encode())
        except UnicodeDecodeError:
            raise UsageError(f"cannot read {path!r}: it begins as UTF-16, and is none; write it as UTF-8") from None
    file.seek(0)
    head = _head(path, file)
    options: dict[str, Any] = {"separator": head.separator, "skip_rows": head.above}
    decimal_comma: bool | None = False
    if head.separator == ";":
        file.seek(0)
        sample = _parsed(path, file, options | {"infer_schema": False, "n_rows": SAMPLE})
        marks = {name: numerals.marks(sample[name]) for name in sample.columns}
        decimal_comma = True if any(each.comma for each in marks.values()) else None
        # As numbers, thousands with points would be a thousandth of what they are.
        options["schema_overrides"] = {name: polars.String for name, each in marks.items() if each.points}
    file.seek(0)
    # Dates are read by times.py: polars takes 01/02/2024 for the first of February without a word.
    frame = _parsed(path, file, {"infer_schema_length": 10_000} | options)
    blank = frame.select(polars.all_horizontal(polars.all().is_null())).to_series()
    return _named(frame.filter(~blank), head.names), decimal_comma


def _head(path: str, file: BinaryIO) -> Head:
    """Read the first line; UsageError if it cannot be the names of columns."""
    line, above = file.readline(1 << 24), 0
    given = re.fullmatch(rb"(?:\xef\xbb\xbf)?sep=(.)\s*", line)  # a line that Excel reads and writes
    if given:
        line, above = file.readline(1 << 24), 1
    if b"\0" in line:
        raise UsageError(f"cannot read {path!r}: it is UTF-16 or no text; write it as UTF-8")
    if b"\r" in line.rstrip(b"\r\n") and not line.endswith(b"\n"):
        raise UsageError(f"cannot read {path!r}: its lines end with a carriage return alone; write line feeds")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path!r}: {_NOT_UTF8}") from None
    separator = given[1].decode() if given else max(SEPARATORS, key=line.count).decode()
    columns = text.count(separator) + 1
    if columns > MOST_COLUMNS:
        raise too_wide(path, columns)
    names = [name.strip() for name in next(csv.reader([text], delimiter=separator), [])]
    if _values(names):
        raise UsageError(f"the first line of {path!r} holds values and no names ({', '.join(names[:3])}); write a line of "
                         "names above it")  # fmt: skip
    twice = [name for name, number in Counter(filter(None, names)).items() if number > 1]
    if twice:
        raise UsageError(f"{path!r} has several columns {twice[0]!r}; give each a name of its own")
    return Head(separator, names, above)


def too_wide(path: str, columns: int) -> UsageError:
    return UsageError(
        f"{path!r} has {columns:,} columns, and {MOST_COLUMNS:,} are the most; write the table in long form: "
        "a row for each step of each series, with --by"
    )


def _values(names: list[str]) -> bool:
    """Whether the first line is one of the rows: a time and numbers. Names may be 0, 1, 2, as pandas counts columns."""
    import polars

    numbers = numerals.read(polars.Series("", names[1:]).cast(polars.String)).values
    if numbers is None or not len(names) > 1 or numbers.null_count() or names == [str(n) for n in range(len(names))]:
        return False
    first = polars.Series("", names[:1])
    return times.like_dates(first) or numerals.read(first).values is not None


def _parsed(path: str, file: BinaryIO, options: dict[str, Any]) -> Any:
    """Let polars read; UsageError for texts that are not UTF-8 and for lines with too many fields."""
    import polars

    try:
        return polars.read_csv(file, **options)
    except polars.exceptions.ComputeError as error:
        reason = str(error)
        if "utf-8" in reason.lower():
            raise UsageError(f"cannot read {path!r}: {_NOT_UTF8}") from None
        if "more fields" in reason:
            raise UsageError(
                f"cannot read {path!r}: a line has more fields than the first one, which holds the names; remove what is "
                f"above the names, and put fields with {options['separator']!r} in quotes"
            ) from None
        if "could not parse" not in reason:
            raise
    file.seek(0)  # a later row does not have the type of the first ones, such as NA after numbers
    kept = {name: value for name, value in options.items() if name not in ("infer_schema_length", "schema_overrides")}
    return _parsed(path, file, kept | {"infer_schema": False})


def _named(frame: Any, names: list[str]) -> Any:
    """The frame with the names of the first line; a column without a name and without values is what ended its lines."""
    if len(names) != frame.width:  # a name with a line break, which only polars has read whole
        return frame
    kept = [n for n, name in enumerate(names) if name or frame.to_series(n).null_count() < frame.height]
    found = frame[:, kept]
    found.columns = [names[n] or f"column {n + 1}" for n in kept]
    return found
