"""Times as people write them: dates of many forms, epochs, quarters, weeks; one reading, or an error that shows both."""

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anygru.extend import UsageError

from . import zones
from .written import CLOCKS, DATES, MONTHS, OF_MONTHS, REWRITTEN, STARTS, in_english
from .zones import Zone

if TYPE_CHECKING:
    import polars

_NAMES = f"(?:{'|'.join(MONTHS)})[a-z]*"
_COUNTED_PARTS = (
    r"\d{4}[-/ ]?[QMWHS]\d|\b(?:F?[QHS][1-4]|[1-4]Q)[-/ ]*(?:FY ?)?['’]?\d{2}|\bFY ?['’]?\d{2,4}[-/ ]*Q[1-4]"
)
LIKE_A_DATE = re.compile(rf"(?i)\d[-/.:|]\d|\b{_NAMES}[. -]*\d|\d[. -]*{_NAMES}\b|{_COUNTED_PARTS}", re.ASCII)
_EPOCHS = ((1.0e8, 1_000_000, "seconds"), (1.0e11, 1_000, "milliseconds"), (1.0e14, 1, "microseconds"),
           (1.0e17, 1e-3, "nanoseconds"))  # fmt: skip
_OF_FISCAL_YEARS = re.compile(r"(?i)FY|FQ|\d{4}/\d{2,4}.*Q|Q.*\d{4}/\d{2}")
MANY = 1000  # texts, of which the first tell the format
_MIDNIGHT = r"([ T])24(:00(?::00)?)$"  # of the day before
_YEARS = 1700, 2101  # with fractions
_NEARLY = 0.1  # of a month, that such years are off at most
_LONGEST = 4.2e9  # seconds since 1970: the year 2103
_DIGITS = {6: "01000000", 8: "000000", 10: "0000", 12: "00", 14: ""}
"""What a number such as 20240131 lacks of a date with hours, minutes and seconds, by its digits."""
EXCEL = "excel"  # the format of days since 1899-12-30
_SERIALS = 30_000, 60_000  # of them, that are worth a word: 1982 to 2064


_COUNTED = {"W": ("week", "isoweek", "weeknum", "wk", "kw", "woche"), "Q": ("quarter", "qtr", "quartal")}
"""Names of columns with parts of a year that are no months, and what tells them."""
PARTS = tuple(name for names in _COUNTED.values() for name in names)


class Moments(NamedTuple):
    """The times of a column: datetime64[us], numbers, or words (an object array), and how they were read."""

    values: np.ndarray
    kind: str
    """"date", "time", "number" or "word"."""
    zone: str = ""
    """What followed every time: "Z", "+01:00", or nothing; or "Europe/Berlin", and then `values` are in UTC."""
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
        place = getattr(dtype, "time_zone", None) or ""
        zone = place if "/" in place else "Z" if place else ""
        local = (column.dt.replace_time_zone(None) if zone else column).cast(polars.Datetime("us")).to_numpy()
        if not zone or zones.days(local):
            return _moments(local)
        return _moments(column.cast(polars.Datetime("us", "UTC")).dt.replace_time_zone(None).to_numpy(), zone)
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


def joined(frame: "polars.DataFrame", name: str) -> "polars.DataFrame":
    """The table with columns of times, named as "date,hour" or "year,month,day", joined into one of this name."""
    import polars

    parts = name.split(",")
    if name in frame.columns or not set(parts) <= set(frame.columns):
        return frame
    text, gap = polars.Series("", [""] * frame.height), ""
    for number, part in enumerate(parts):
        column = frame[part]
        column = column.dt.date() if column.dtype == polars.Datetime else column
        column = column.cast(polars.Int64) if whole(column) else column
        text = text + gap + column.cast(polars.String).str.strip_chars()
        years = bool(text.str.contains(r"^\d{4}(-\d{1,2})?$").all())
        gap = "-" if years and number < 2 else " "
        follows = parts[number + 1].lower() if number + 1 < len(parts) else ""
        gap += next((mark for mark, names in _COUNTED.items() if gap == "-" and follows in names), "")
    text = text.str.replace(r" (\d{1,2})$", " ${1}:00")
    return frame.drop(parts).with_columns(text.alias(name))


def whole(column: "polars.Series") -> bool:
    """Whether a column holds whole numbers, perhaps as 1959.0, as pandas writes them beside missing ones."""
    return column.dtype.is_integer() or (column.dtype.is_float() and bool((column == column.round()).all()))


def like_dates(column: "polars.Series") -> bool:
    """Whether a column holds dates, by its type or by the first of its texts."""
    import polars

    if column.dtype in (polars.Date, polars.Datetime):
        return True
    if column.dtype != polars.String:
        return False
    first = column.head(100).drop_nulls().head(1)
    return len(first) > 0 and bool(LIKE_A_DATE.search(first[0])) and bool(_readings(_plain(first)[0])[0])


def _per_second(dtype: "polars.DataType") -> float:
    return {"ms": 1e3, "us": 1e6, "ns": 1e9, None: 1e9}[getattr(dtype, "time_unit", None)]  # polars.Time counts ns


def _moments(values: np.ndarray, zone: str = "", remark: str = "") -> Moments:
    whole = not zone and bool((values == values.astype("datetime64[D]")).all())
    return Moments(values, "date" if whole else "time", zone, remark)


def _of_numbers(column: "polars.Series") -> Moments:
    """Read numbers: 202401, 20240131 and 2024013105 are dates, a count from 1970 is a time, and others are numbers."""
    wide = "128" in str(column.dtype) or "Decimal" in str(column.dtype)
    values = (column.cast(float) if wide else column).to_numpy()
    low, high = float(values.min()), float(values.max())
    dated = _of_digits(values, low, high)
    if dated is not None:
        return dated
    for least, unit, name in _EPOCHS:
        if least * 5 <= low and high <= _LONGEST * 1_000_000 / unit:
            moments = np.rint(values.astype(np.float64) * unit).astype(np.int64).astype("datetime64[us]")
            return _moments(moments, "Z", f"times read as {name} since 1970")
    years = _decimal_years(values, low, high)
    if years is not None:
        return years
    if len(values) > 1 and _SERIALS[0] <= low and high <= _SERIALS[1]:
        day = _of_excel(values[:1])[0].astype("datetime64[D]")
        return Moments(values, "number", remark=f"if the times are days of Excel ({values[0]:g} = {day}), "
                       f"--time-format {EXCEL} reads them so")  # fmt: skip
    return Moments(values, "number")


def _of_digits(values: np.ndarray, low: float, high: float) -> Moments | None:
    """Read numbers whose digits are a date, of the years 1900 to 2100."""
    import polars

    size = len(f"{low:.0f}")
    unit = 10 ** (size - 4)
    if size not in _DIGITS or low < 1900 * unit or high >= 2101 * unit or (values != np.rint(values)).any():
        return None
    whole = polars.Series(values).cast(polars.Int64).cast(polars.String)
    read = (whole + _DIGITS[size]).str.strptime(polars.Datetime("us"), "%Y%m%d%H%M%S", strict=False)
    if read.null_count():
        return None
    moments = read.to_numpy()
    one = _moments(moments)
    shown = str(moments[0].astype("datetime64[D]" if one.kind == "date" else "datetime64[m]")).replace("T", " ")
    return one._replace(remark=f"times read as {whole[0]} = {shown}")


def _decimal_years(values: np.ndarray, low: float, high: float) -> Moments | None:
    """Read years with a fraction for the month, such as 1949.083, which is rounded; None for other numbers."""
    if not _YEARS[0] <= low <= high <= _YEARS[1] or len(values) < 3 or (values == np.rint(values)).all():
        return None
    months = 12 * values.astype(np.float64)
    begin = np.floor(low * 12 + _NEARLY)  # the middle of a month is in it
    month = np.rint(months - low * 12)
    if (np.abs(months - low * 12 - month) > _NEARLY).any():
        return None
    moments = (np.datetime64("0000-01") + (begin + month).astype(int)).astype("datetime64[us]")
    return _moments(moments)._replace(remark=f"times read as {values[0]:.10g} = {str(moments[0])[:7]}")


def _of_excel(values: np.ndarray) -> np.ndarray:
    """Days since 1899-12-30, to the millisecond: fractions of them are not exact."""
    return np.datetime64("1899-12-30", "us") + np.rint(values * 86_400_000).astype("timedelta64[ms]")


def _of_text(column: "polars.Series", where: str, form: str | None, day_first: bool | None) -> Moments:
    if form is not None:
        return _of_form(column, where, form)
    common = _of_one_format(column) if len(column) > MANY else None
    if common is not None:
        return _moments(common)
    text, zone = _plain(column)
    late = text.str.contains(_MIDNIGHT).to_numpy()
    text = text.str.replace(_MIDNIGHT, "${1}00${2}")
    counted = _counted(text)
    if counted is not None:
        return counted
    readings, tried = _readings(text)
    if not readings:
        readings, more = _readings(in_english(text))
        tried = tried or more
    readings = {one: each + late * np.timedelta64(1, "D") for one, each in readings.items()}
    if len(readings) > 1 and day_first is not None:
        begin = "%d" if day_first else "%m"
        readings = {one: each for one, each in readings.items() if one.startswith(begin)} or readings
    if len(readings) > 1:
        raise UsageError(_several(readings, column, where))
    if readings:
        read = _moments(*zones.applied(next(iter(readings.values())), zone, column, where))
        if not _OF_FISCAL_YEARS.search(column[0]):
            return read
        day = read.values[0].astype("datetime64[D]")
        return read._replace(remark=f"fiscal quarters read as those of the calendar, {column[0]} = {day}")
    looks = [each for each in column.head(100).to_list() if LIKE_A_DATE.search(each)]
    if looks or tried:
        raise UsageError(_no_format(column, text, tried, where))
    words = np.array(column.to_list(), dtype=object)
    return Moments(words, "word", remark="times are words: rows are taken as the file has them, the oldest first")


def _of_form(column: "polars.Series", where: str, form: str) -> Moments:
    """Read texts of the format that --time-format names."""
    import polars

    if form == EXCEL:
        numbers = column.cast(float, strict=False)
        if numbers.null_count():
            raise UsageError(
                f"{where} holds {_first(column, numbers)!r}, which is no day of Excel, as --time-format says"
            )
        return _moments(_of_excel(numbers.to_numpy()))
    found = column.str.strptime(polars.Datetime("us"), form, strict=False)
    if found.null_count():
        raise UsageError(f"{where} holds {_first(column, found)!r}, which is not of --time-format {form!r}")
    if getattr(found.dtype, "time_zone", None):
        return _moments(found.dt.replace_time_zone(None).to_numpy(), "Z")
    return _moments(found.to_numpy())


def _counted(text: "polars.Series") -> Moments | None:
    """Read texts that are no dates but counts: durations as 1:30:00, numbers, fiscal years; None for others."""
    import polars

    if text.str.contains(r"^\d{1,4}:\d{2}(:\d{2}(\.\d+)?)?$").all():
        each = text.str.split(":").list.to_struct(fields=["h", "m", "s"]).struct.unnest()
        parts = each.cast(polars.Float64).fill_null(0)
        seconds = (3600 * parts["h"] + 60 * parts["m"] + (parts["s"] if parts.width > 2 else 0)).to_numpy()
        return Moments(seconds, "number", remark=f"times read as {text[0]} = {seconds[0]:g} seconds")
    if text.str.contains(r"^[+-]?\d+(\.\d+)?$").all() and not text.str.contains(r"^\d{8}$").all():
        return _of_numbers(text.cast(float))
    return _fiscal(text)


def _fiscal(text: "polars.Series") -> Moments | None:
    """Read years that do not begin in January, as 2023/24 or FY23, as the number of the first year; None if a text is none."""
    import polars

    found = text.str.extract_groups(r"^(FY)? ?['’]?(\d{4}|\d{2})(?:[-/](\d{4}|\d{2}))?$").struct.unnest()
    label, first, last = found["1"], found["2"].cast(polars.Int64), found["3"].cast(polars.Int64)
    paired = last.is_not_null()
    follow = ((last - first - 1) % 100 == 0).fill_null(True)
    if first.null_count() or not (follow & (label.is_not_null() | paired)).all():
        return None
    years = first.to_numpy()
    years = np.where(years < 70, 2000 + years, np.where(years < 100, 1900 + years, years))
    return Moments(years, "number", remark=f"times read as {text[0]} = {years[0]}")


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


def _several(readings: dict[str, np.ndarray], column: "polars.Series", where: str) -> str:
    """Say how else a date can be read."""
    found = np.stack(list(readings.values()))
    row = int((found != found[0]).any(0).argmax())
    ways = [f"{each[row].astype('datetime64[D]')} ({one})" for one, each in readings.items()]
    options = {"%d": "--day-first", "%m": "--no-day-first"}
    named = [options.get(one[:2], f"--time-format '{one}'") for one in readings]
    named = sorted(named, key=len)
    return (
        f"{where} can be read in {'two' if len(ways) == 2 else 'three'} ways: {column[row]!r} is "
        f"{', '.join(ways[:-1])} or {ways[-1]}; say which with {', '.join(named[:-1])} or {named[-1]}"
    )


def _plain(column: "polars.Series") -> "tuple[polars.Series, Zone]":
    """Return the texts without what carries no time (commas, weekdays, spaces), and the zone that they name."""
    text = column.str.strip_chars().str.replace(r"^(\d{8})T(\d{2})(\d{2})(\d{2})", "${1} ${2}:${3}:${4}")
    text, zone = zones.split(text)
    for pattern, form in REWRITTEN:
        text = text.str.replace_all(f"(?i){pattern}", form)
    text = text.str.to_uppercase().str.replace(r"^(.*[ T]\d{1,2})([AP]M)$", "${1}:00${2}")
    for part, month in STARTS:
        text = text.str.replace(rf"-{part}$", f"-{month}")
    return text, zone


def _readings(text: "polars.Series") -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the texts' times by each format that fits all of them, and the formats that fit the first one."""
    import polars

    first = str(text[0])
    found: dict[str, np.ndarray] = {}
    tried: list[str] = []
    for date, formats in DATES:
        for clock, hours in CLOCKS:
            gap = "[ T]" if clock else ""
            if not re.fullmatch(f"{date}{gap}{clock}", first, re.ASCII | re.IGNORECASE):
                continue
            joined = text.str.replace(r"(\d)T(\d)", "${1} ${2}")
            if date.endswith(r"W\d{2}"):
                joined = joined.str.replace(r"^(\d{4}-W\d{2})", "${1}-1")
                formats = ("%G-W%V-%u",)
            elif not any("%d" in form or "%u" in form for form in formats):
                joined = f"01{OF_MONTHS}" + joined
                formats = tuple(f"%d{OF_MONTHS}{form}" for form in formats)
            fits = text.str.contains(f"(?i)^{date}{gap}{clock}$")
            for form in formats:
                whole = f"{form} {hours}".rstrip()
                parsed = joined.str.strptime(polars.Datetime("us"), whole, strict=False)
                tried.append(whole)
                if not fits.all() or parsed.null_count() or (form.startswith("%y") and _days_first(text)):
                    continue
                if not any(np.array_equal(parsed, each) for each in found.values()):
                    found[whole] = parsed.to_numpy()
    return found, tried


def _days_first(text: "polars.Series") -> bool:
    """Whether the first number of dates is no year: it has one digit, or changes more often than the last."""
    first, last = (text.str.extract(r"^(\d+)\D\d+\D(\d+)", group).n_unique() for group in (1, 2))
    return first > last or not bool(text.str.contains(r"^\d{2}\D").all())


def _first(column: "polars.Series", parsed: "polars.Series") -> str:
    return str(column.filter(parsed.is_null())[0])


def _no_format(column: "polars.Series", text: "polars.Series", tried: list[str], where: str) -> str:
    """Say which text fits none of the formats."""
    import polars

    wrong, shown = column[0], [form.removeprefix(f"%d{OF_MONTHS}") for form in tried]
    whole = text.str.replace(r"(\d)T(\d)", "${1} ${2}")
    for form in tried:
        dated = f"01{OF_MONTHS}" + whole if form.startswith(f"%d{OF_MONTHS}") else whole
        parsed = dated.str.strptime(polars.Datetime("us"), form, strict=False)
        if 0 < parsed.null_count() < len(parsed):
            wrong = _first(column, parsed)
    names = f"the format{'s' if len(tried) > 1 else ''} {', '.join(map(repr, shown))} of the first row" if tried else ""
    what = f"does not fit {names}" if tried else "is of no format that is known, such as '%Y-%m-%d %H:%M'"
    remove = "remove its row, or " if tried else ""
    return f"{where} holds {wrong!r}, which {what}; {remove}name the format with --time-format, as of Python's strptime"
