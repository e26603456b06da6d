"""Times as people write them: dates of many forms, epochs, quarters, weeks; one reading, or an error that shows both."""

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anygru.extend import UsageError

if TYPE_CHECKING:
    import polars

_MONTH = r"[A-Za-z]{3,9}\.?"
_DATES: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((rf"\d{{4}}{re.escape(c)}\d{{1,2}}{re.escape(c)}\d{{1,2}}", (f"%Y{c}%m{c}%d",)) for c in "-/."),
    *(
        (rf"\d{{1,2}}{re.escape(c)}\d{{1,2}}{re.escape(c)}{digits}", (f"%m{c}%d{c}{year}", f"%d{c}%m{c}{year}"))
        for digits, year in ((r"\d{4}", "%Y"), (r"\d{2}", "%y"))
        for c in "/-."
    ),
    (r"\d{8}", ("%Y%m%d",)),
    (rf"{_MONTH} \d{{1,2}} \d{{4}}", ("%B %d %Y",)),
    (rf"\d{{1,2}} {_MONTH} \d{{4}}", ("%d %B %Y",)),
    (rf"\d{{1,2}} {_MONTH} \d{{2}}", ("%d %B %y",)),
    (rf"\d{{1,2}}-{_MONTH}-\d{{4}}", ("%d-%B-%Y",)),
    (rf"\d{{1,2}}-{_MONTH}-\d{{2}}", ("%d-%B-%y",)),
    (r"\d{4}-\d{1,2}", ("%Y-%m",)),
    (r"\d{4}/\d{1,2}", ("%Y/%m",)),
    (r"\d{1,2}/\d{4}", ("%m/%Y",)),
    (rf"{_MONTH} \d{{4}}", ("%B %Y",)),
    (rf"{_MONTH}-\d{{4}}", ("%B-%Y",)),
    (rf"{_MONTH}-\d{{2}}", ("%B-%y",)),
    (r"\d{4}-?W\d{2}", ("%G-W%V",)),
)
"""A pattern of a whole date, and the formats that it may be; two where month and day can be taken for each other."""
_CLOCKS = (
    (r"", ""),
    (r"\d{1,2}:\d{2}", "%H:%M"),
    (r"\d{1,2}:\d{2}:\d{2}", "%H:%M:%S"),
    (r"\d{1,2}:\d{2}:\d{2}\.\d{1,9}", "%H:%M:%S%.f"),
    (r"\d{1,2}:\d{2}[AP]M", "%I:%M%p"),
    (r"\d{1,2}:\d{2}:\d{2}[AP]M", "%I:%M:%S%p"),
)
_ZONE = r"(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})"
_NAMES = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_LIKE_A_DATE = re.compile(rf"(?i)\d[-/.:|]\d|\b{_NAMES}[. -]*\d|\d[. -]*{_NAMES}\b", re.ASCII)
_EPOCHS = ((1.0e8, 1_000_000, "seconds"), (1.0e11, 1_000, "milliseconds"), (1.0e14, 1, "microseconds"))
MANY = 1000  # texts, of which the first tell the format
_LONGEST = 4.2e9  # seconds since 1970: the year 2103


class Moments(NamedTuple):
    """The times of a column: datetime64[us], numbers, or words (an object array), and how they were read."""

    values: np.ndarray
    kind: str
    """"date", "time", "number" or "word"."""
    zone: str = ""
    """What followed every time: "Z", "+01:00", or nothing."""
    remark: str = ""


def read(column: "polars.Series", where: str, form: str | None = None, day_first: bool | None = None) -> Moments:
    """Read the times of a column without missing values.

    Args:
        column: of any type that tables have.
        where: the column and its file, for errors.
        form: the format of texts, as of strptime; None: found by trying those that people use.
        day_first: how to read 01/02/2024; None: an error, unless another date of the column decides.

    Raises:
        UsageError: the dates have two readings, some of them do not fit, or the column holds no times.
    """
    import polars

    dtype = column.dtype
    if dtype == polars.Date:
        return Moments(column.cast(polars.Datetime("us")).to_numpy(), "date")
    if dtype == polars.Datetime:
        zone = "Z" if getattr(dtype, "time_zone", None) else ""
        values = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zone else column
        return _moments(values.cast(polars.Datetime("us")).to_numpy(), zone)
    if dtype in (polars.Duration, polars.Time):
        return Moments(column.to_physical().to_numpy() / _per_second(dtype), "number")
    if dtype.is_numeric() and form is None:
        return _of_numbers(column)
    if dtype in (polars.String, polars.Categorical, polars.Enum) or dtype.is_numeric():
        text = column.cast(polars.String)
        different = text.unique(maintain_order=True)
        if len(different) > len(text) // 2:
            return _of_text(text, where, form, day_first)
        found = _of_text(different, where, form, day_first)  # series at the same times share their texts
        return found._replace(values=found.values[text.cast(polars.Enum(different)).to_physical().to_numpy()])
    raise UsageError(f"{where} holds no times but {dtype}; name the right column with --time")


def like_dates(column: "polars.Series") -> bool:
    """Whether a column holds dates, by its type or by the first of its texts."""
    import polars

    if column.dtype in (polars.Date, polars.Datetime):
        return True
    if column.dtype != polars.String:
        return False
    first = column.head(100).drop_nulls().head(1)
    return len(first) > 0 and bool(_LIKE_A_DATE.search(first[0])) and bool(_readings(_plain(first)[0])[0])


def _per_second(dtype: "polars.DataType") -> float:
    return {"ms": 1e3, "us": 1e6, "ns": 1e9, None: 1e9}[getattr(dtype, "time_unit", None)]  # polars.Time counts ns


def _moments(values: np.ndarray, zone: str = "", remark: str = "") -> Moments:
    whole = not zone and bool((values == values.astype("datetime64[D]")).all())
    return Moments(values, "date" if whole else "time", zone, remark)


def _of_numbers(column: "polars.Series") -> Moments:
    """Read numbers: 20240131 is a date, a count from 1970 is a time, and anything else is a number."""
    wide = "128" in str(column.dtype) or "Decimal" in str(column.dtype)
    values = (column.cast(float) if wide else column).to_numpy()
    whole = bool((values == np.rint(values)).all())
    low, high = float(values.min()), float(values.max())
    if whole and low >= 19_000_101 and high <= 21_001_231:
        texts = [str(int(value)) for value in values]
        try:
            days = np.array([f"{text[:4]}-{text[4:6]}-{text[6:]}" for text in texts], "datetime64[us]")
        except ValueError:
            return Moments(values, "number")
        return Moments(days, "date", remark=f"times read as {texts[0]} = {days[0].astype('datetime64[D]')}")
    for least, unit, name in _EPOCHS:
        if least * 5 <= low and high <= _LONGEST * 1_000_000 / unit:
            moments = np.rint(values.astype(np.float64) * unit).astype(np.int64).astype("datetime64[us]")
            return _moments(moments, "Z", f"times read as {name} since 1970")
    return Moments(values, "number")


def _of_text(column: "polars.Series", where: str, form: str | None, day_first: bool | None) -> Moments:
    import polars

    if form is not None:
        found = column.str.strptime(polars.Datetime("us"), form, strict=False)
        if found.null_count():
            raise UsageError(f"{where} holds {_first(column, found)!r}, which is not of --time-format {form!r}")
        if getattr(found.dtype, "time_zone", None):
            return _moments(found.dt.replace_time_zone(None).to_numpy(), "Z")
        return _moments(found.to_numpy())
    common = _of_one_format(column) if len(column) > MANY else None
    if common is not None:
        return _moments(common)
    text, zone = _plain(column)
    if text.str.contains(r"^[+-]?\d+(\.\d+)?$").all() and not text.str.contains(r"^\d{8}$").all():
        return _of_numbers(text.cast(float))
    readings, tried = _readings(text)
    if len(readings) > 1 and day_first is not None:
        kept = 1 if day_first else 0
        readings = dict([list(readings.items())[kept]])
    if len(readings) > 1:
        (one, first), (other, second) = readings.items()
        row = int((first != second).argmax())
        is_first, is_second = (str(each[row].astype("datetime64[D]")) for each in (first, second))
        raise UsageError(
            f"{where} can be read in two ways: {column[row]!r} is {is_first} ({one}) or {is_second} ({other}); "
            "say which with --day-first or --no-day-first"
        )
    if readings:
        return _moments(next(iter(readings.values())), zone)
    looks = [each for each in column.head(100).to_list() if _LIKE_A_DATE.search(each)]
    if looks or tried:
        raise UsageError(_no_format(column, text, tried, where))
    words = np.array(column.to_list(), dtype=object)
    return Moments(words, "word", remark="times are words: rows are taken as the file has them, the oldest first")


def _of_one_format(column: "polars.Series") -> np.ndarray | None:
    """Return the times of many texts by the one format that the first of them have; None if others do not have it."""
    import polars

    first = column.head(MANY)
    text, zone = _plain(first)
    readings = {} if zone or (text != first).any() else _readings(text)[0]
    if len(readings) != 1:
        return None
    spaced = column.str.replace("T", " ", literal=True) if "T" in first[0] else column
    found = spaced.str.strptime(polars.Datetime("us"), next(iter(readings)), strict=False)
    return None if found.null_count() else found.to_numpy()


def _plain(column: "polars.Series") -> "tuple[polars.Series, str]":
    """Return the texts without what carries no time (commas, weekdays, spaces), and the zone that all of them name."""
    import polars

    text = column.str.replace_all(r"[,\s]+", " ").str.strip_chars(" ")
    text = text.str.replace(r"(?i)^(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.? ", "")
    text = text.str.replace(r"(?i)\bsept\b", "Sep").str.replace(r"(?i)^([a-z]{3,9}\.?) ?['’](\d{2})$", "${1}-${2}")
    text = text.str.replace(r"(?i) ?([ap])\.?m\.?$", "${1}m").str.replace(r"(\d)([ap])m$", "${1}${2}M")
    text = text.str.replace(r"(?i)(\d)(am|pm)$", "${1}${2}").str.to_uppercase()
    text = text.str.replace(r"^(.*[ T]\d{1,2})([AP]M)$", "${1}:00${2}")
    text = text.str.replace(r"^(\d{4})[- ]?Q([1-4])$", "${1}-Q${2}").str.replace(r"^Q([1-4])[- ](\d{4})$", "${2}-Q${1}")
    for quarter, month in enumerate(("01", "04", "07", "10"), 1):
        text = text.str.replace(rf"-Q{quarter}$", f"-{month}")
    zones = text.str.extract(rf"\d ?({_ZONE})$").filter(text.str.contains(r":\d{2}"))
    known = zones.drop_nulls().unique()
    if len(known) == 1 and not zones.null_count() and len(zones) == len(text):
        zone = str(known[0]).replace("UTC", "Z").replace("GMT", "Z")
        return text.str.replace(rf" ?{_ZONE}$", ""), zone
    if len(known) > 1:  # summer and winter time: in UTC they are equally far apart
        form = r"%Y-%m-%dT%H:%M:%S%.f%#z"
        moved = text.str.replace(" ", "T").str.replace(r"T(\d{1,2}:\d{2})( ?[Z+-])", "T${1}:00${2}")
        utc = moved.str.replace(r" ?(Z|UTC|GMT)$", "+0000").str.strptime(polars.Datetime("us"), form, strict=False)
        if not utc.null_count():
            return utc.dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%d %H:%M:%S%.6f"), "Z"
    return text, ""


def _readings(text: "polars.Series") -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the texts' times by each format that fits all of them, and the formats that fit the first one."""
    import polars

    first = str(text[0])
    found: dict[str, np.ndarray] = {}
    tried: list[str] = []
    for date, formats in _DATES:
        for clock, hours in _CLOCKS:
            gap = "[ T]" if clock else ""
            if not re.fullmatch(f"{date}{gap}{clock}", first, re.ASCII | re.IGNORECASE):
                continue
            joined = text.str.replace(r"(\d)T(\d)", "${1} ${2}")
            if date.endswith(r"W\d{2}"):
                joined = joined.str.replace(r"^(\d{4})-?W(\d{2})", "${1}-W${2}-1")
                formats = ("%G-W%V-%u",)
            elif not any("%d" in form for form in formats):
                joined = "01 " + joined
                formats = tuple(f"%d {form}" for form in formats)
            fits = text.str.contains(f"(?i)^{date}{gap}{clock}$")
            for form in formats:
                whole = f"{form} {hours}".rstrip()
                parsed = joined.str.strptime(polars.Datetime("us"), whole, strict=False)
                tried.append(whole)
                if fits.all() and not parsed.null_count():
                    found[whole] = parsed.to_numpy()
    if len(found) == 2 and _same(list(found.values())):
        found.popitem()
    return found, tried


def _same(readings: list[np.ndarray]) -> bool:
    return all(np.array_equal(each, readings[0]) for each in readings)


def _first(column: "polars.Series", parsed: "polars.Series") -> str:
    return str(column.filter(parsed.is_null())[0])


def _no_format(column: "polars.Series", text: "polars.Series", tried: list[str], where: str) -> str:
    """Say which text fits none of the formats."""
    import polars

    wrong = column[0]
    whole = text.str.replace(r"(\d)T(\d)", "${1} ${2}")
    for form in tried:
        dated = "01 " + whole if form.startswith("%d ") and not text[0][:1].isdigit() else whole
        parsed = dated.str.strptime(polars.Datetime("us"), form, strict=False)
        if 0 < parsed.null_count() < len(parsed):
            wrong = _first(column, parsed)
    names = f"the format{'s' if len(tried) > 1 else ''} {', '.join(map(repr, tried))} of the first row" if tried else ""
    what = f"does not fit {names}" if tried else "is of no format that is known, such as '%Y-%m-%d %H:%M'"
    remove = "remove its row, or " if tried else ""
    return f"{where} holds {wrong!r}, which {what}; {remove}name the format with --time-format, as of Python's strptime"
