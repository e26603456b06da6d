"""CSV as people have it: its encoding, what ends its fields, which marks its decimals have, its names, lines that do not fit."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

from anygru.extend import UsageError

from . import edges, numerals, spaced, times

SEPARATORS = (b",", b";", b"\t", b"|")
MOST_COLUMNS = 10_000
SAMPLE = 1000  # rows whose texts show the decimal mark
LOOKED_AT = 100  # lines that show how many fields there are
WESTERN = "cp1252"
_PIECE = 1 << 24
_SAMPLE = 1 << 20
_MARKS = (
    (rb"\xff\xfe\0\0|\0\0\xfe\xff", "utf-32"),
    (rb"\xff\xfe|\xfe\xff", "utf-16"),
    (rb"[^\0]\0[^\0]\0", "utf-16-le"),
    (rb"\0[^\0]\0[^\0]", "utf-16-be"),
)
"""Bytes that a file begins with, and its encoding; Excel writes "Unicode text" with such a mark."""


class Contents(NamedTuple):
    """What a file holds: a frame, whether its numbers have decimal commas (None if it does not show), and a remark."""

    frame: Any
    decimal_comma: bool | None = False
    remark: str = ""


class Head(NamedTuple):
    """What the line of names says: what ends a field, the names, and how many lines are above it."""

    separator: str
    names: list[str]
    above: int


def read(path: str, file: BinaryIO, encoding: str | None = None) -> Contents:
    """Return the table of a CSV file.

    Args:
        path: the file's name, for errors.
        file: its bytes.
        encoding: of its text; None: UTF-8, UTF-16 or UTF-32, or Windows-1252 where it is none of them and looks western.

    Raises:
        UsageError: no table can be made of the file.
    """
    start = file.read(4)
    encoding = encoding or next((name for mark, name in _MARKS if re.match(mark, start)), None)
    if encoding is not None:
        return _table(path, _recoded(path, file, encoding))
    try:
        return _table(path, file)
    except UnicodeError:
        file.seek(0)
    letters = file.read(_PIECE)
    # Of other alphabets, most letters are none of ASCII.
    if len(re.findall(rb"[\xc0-\xff]", letters)) > len(re.findall(rb"[A-Za-z]", letters)):
        raise _foreign(path, "UTF-8")
    found = _table(path, _recoded(path, file, WESTERN))
    said = "read as Windows-1252 (--encoding names another)"
    return found._replace(remark="; ".join(filter(None, [said, found.remark])))


def _recoded(path: str, file: BinaryIO, encoding: str) -> BinaryIO:
    """Return a file's text in UTF-8."""
    file.seek(0)
    out = io.BytesIO()
    try:
        text = io.TextIOWrapper(file, encoding, newline="")
        while piece := text.read(_PIECE):
            out.write(piece.encode())
        text.detach()  # or it would close the file
    except LookupError:
        raise UsageError(f"--encoding {encoding} is none that Python knows, as utf-8, cp1251 or shift_jis") from None
    except UnicodeError:
        raise _foreign(path, "UTF-8 or Windows-1252" if encoding == WESTERN else encoding) from None
    return out


def _foreign(path: str, encoding: str) -> UsageError:
    return UsageError(f"cannot read {path!r}: it is not {encoding}; name its encoding with --encoding, as cp1251 or "
                      "shift_jis, or write it as UTF-8 (in Excel: save as CSV UTF-8)")  # fmt: skip


def _table(path: str, file: BinaryIO) -> Contents:
    """The table of a file in UTF-8; UnicodeError if it is none."""
    import polars

    file = spaced.tabbed(path, file) or file
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
    frame = named(frame, head.names)
    if head.separator == "|":  # drawn tables have spaces around their fields, and a line under the names
        frame = frame.with_columns(polars.selectors.string().str.strip_chars())
        drawn = polars.selectors.string().str.contains(f"^(?:{spaced.RULE.pattern})$").fill_null(True)
        frame = frame.filter(~polars.all_horizontal(drawn)) if polars.String in frame.dtypes else frame
    frame, remark = edges.without_notes(frame)
    return Contents(frame, decimal_comma, remark)


def _head(path: str, file: BinaryIO) -> Head:
    """Read the line of names, the first one with several fields; UsageError if it cannot be that."""
    line, above = file.readline(_PIECE), 0
    given = re.fullmatch(rb"(?:\xef\xbb\xbf)?sep=(.)\s*", line)  # a line that Excel reads and writes
    separators = (given[1],) if given else SEPARATORS
    if given:
        line, above = file.readline(_PIECE), 1
    usual = edges.usual(_sample(file, separators))
    titles = begin = 0
    while line and titles < edges.TITLES:
        begin = file.tell() - len(line)
        following = file.readline(_PIECE)
        marked = any(map(line.count, separators)) or line.count(b'"') % 2
        paired = any(line.count(each) == following.count(each) > 0 for each in separators)
        comment = line.startswith(b"#") and (following.startswith(b"#") or not paired)
        alone = re.search(rb"\w", following) and not any(map(following.count, separators))  # which no row is
        title = not line.count(b'"') % 2 and (alone or edges.is_title(_fields(line, separators), usual))
        if marked and not comment and not title:
            break
        line, above, titles = following, above + 1, titles + (not comment)
    if b"\0" in line:
        raise UsageError(f"cannot read {path!r}: it is no text")
    if b"\r" in line.rstrip(b"\r\n") and not line.endswith(b"\n"):
        raise UsageError(f"cannot read {path!r}: its lines end with a carriage return alone; write line feeds")
    if not any(map(line.count, separators)):
        raise UsageError(f"cannot read {path!r}: {'it has one column' if file.tell() else 'it is empty'}; a table has times "
                         "and values, in fields that end with commas, semicolons, tabs or bars")  # fmt: skip
    text = line.decode("utf-8-sig").removeprefix("#")
    separator = max(separators, key=line.count).decode()
    columns = text.count(separator) + 1
    if columns > MOST_COLUMNS:
        raise too_wide(path, columns)
    file.seek(begin)
    names, levels = edges.names_of(_sample(file, (separator.encode(),)))
    names[:1] = [name.removeprefix("#").strip() for name in names[:1]]
    check_names(path, names)
    return Head(separator, names, above + levels - 1)


def _sample(file: BinaryIO, separators: Sequence[bytes]) -> list[list[str]]:
    """The fields of the next lines."""
    begin = file.tell()
    rows: list[list[str]] = []
    while len(rows) < LOOKED_AT and file.tell() < begin + _SAMPLE and (line := file.readline(_PIECE)):
        rows.append(_fields(line, separators))
    file.seek(begin)
    return rows


def check_names(path: str, names: Sequence[str]) -> None:
    """Refuse names that are values, or occur twice."""
    if _values(names):
        raise UsageError(f"the first line of {path!r} holds values and no names ({', '.join(names[:3])}); write a line of "
                         "names above it")  # fmt: skip
    twice = [name for name, number in Counter(filter(None, names)).items() if number > 1]
    if twice:
        raise UsageError(f"{path!r} has several columns {twice[0]!r}; give each a name of its own")


def _fields(line: bytes, separators: Sequence[bytes]) -> list[str]:
    text, separator = line.decode("utf-8-sig", "replace").rstrip("\r\n"), max(separators, key=line.count).decode()
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error:  # such as a carriage return in it
        return text.split(separator)


def too_wide(path: str, columns: int) -> UsageError:
    return UsageError(
        f"{path!r} has {columns:,} columns, and {MOST_COLUMNS:,} are the most; write the table in long form: "
        "a row for each step of each series, with --by"
    )


def _values(names: Sequence[str]) -> bool:
    """Whether the first line is one of the rows: a time and numbers. Names may be 0, 1, 2, as pandas counts columns."""
    import polars

    numbers = numerals.read(polars.Series("", names[1:]).cast(polars.String)).values
    if numbers is None or not len(names) > 1 or numbers.null_count() or names == [str(n) for n in range(len(names))]:
        return False
    first = polars.Series("", names[:1])
    return times.like_dates(first) or numerals.read(first).values is not None


def _parsed(path: str, file: BinaryIO, options: dict[str, Any]) -> Any:
    """Let polars read; UnicodeError for texts that are not UTF-8, UsageError for lines with too many fields."""
    import polars

    try:
        return polars.read_csv(file, **options)
    except polars.exceptions.ComputeError as error:
        reason = str(error)
        if "utf-8" in reason.lower():
            raise UnicodeError(reason) from None
        if "more fields" in reason:
            raise UsageError(
                f"cannot read {path!r}: a line has more fields than the first one, which holds the names; remove what is "
                f"above the names, and put fields with {options['separator']!r} in quotes"
            ) from None
        if "could not parse" not in reason or options.get("infer_schema") is False:
            raise
    file.seek(0)  # a later row does not have the type of the first ones, such as NA after numbers
    kept = {name: value for name, value in options.items() if name not in ("infer_schema_length", "schema_overrides")}
    return _parsed(path, file, kept | {"infer_schema": False})


def named(frame: Any, names: Sequence[str]) -> Any:
    """The frame with these names, without blank rows; a column without a name and without values is what ended its lines."""
    import polars

    blank = frame.select(polars.all_horizontal(polars.all().is_null())).to_series()
    frame = frame.filter(~blank)
    if len(names) != frame.width:  # a name with a line break, which only polars has read whole
        return frame
    kept = [n for n, name in enumerate(names) if name or frame.to_series(n).null_count() < frame.height]
    found = frame[:, kept]
    found.columns = [names[n] or f"column {n + 1}" for n in kept]
    return found
