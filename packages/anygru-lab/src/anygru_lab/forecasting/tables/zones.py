"""What tells the zone at the end of times: offsets, UTC, abbreviations, and names such as Europe/Berlin."""

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anygru.extend import UsageError

if TYPE_CHECKING:
    import polars

_HOURS = {"CET": 1, "CEST": 2, "WET": 0, "WEST": 1, "EET": 2, "EEST": 3, "JST": 9,
          "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}  # fmt: skip
"""As RFC 822 has them, and those of Europe and Japan; others have several meanings."""
_OFFSET = r"(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?"
_ZONE = rf"(?:Z|UTC|GMT|{_OFFSET}|{'|'.join(_HOURS)}|[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_-]+)+)"
_END = rf"(?:\d|[AaPp]\.?[Mm]\.?) ?({_ZONE})$"


class Zone(NamedTuple):
    """The zone of all times: "Z", "+01:00", "Europe/Berlin" or none; or of each its minutes ahead of UTC."""

    name: str = ""
    minutes: np.ndarray | None = None

    def __bool__(self) -> bool:
        return bool(self.name) or self.minutes is not None


def split(text: "polars.Series") -> "tuple[polars.Series, Zone]":
    """Return the texts without their zones, and these; texts of which only some have a zone stay as they are."""
    text = text.str.replace(r"(:\d{2}.*?) ?(?:\[[A-Za-z_/]+\]|\([A-Za-z ]+\))$", "${1}")  # a name after an offset
    found = text.str.extract(_END).filter(text.str.contains(r":\d{2}"))
    if len(found) < len(text) or found.null_count():
        return text, Zone()
    rest = text.str.replace(rf" ?{_ZONE}$", "")
    different = found.unique().to_list()
    if len(different) == 1 and "/" in different[0]:
        return rest, Zone(different[0])
    if any("/" in each for each in different):
        return text, Zone()
    minutes = {each: ahead(each) for each in different}
    if len(set(minutes.values())) == 1:
        return rest, Zone(_name(different[0], minutes[different[0]]))
    return rest, Zone(minutes=found.replace_strict(minutes).to_numpy())


def ahead(zone: str) -> int:
    """Return the minutes that an offset or an abbreviation is ahead of UTC."""
    if zone in _HOURS:
        return 60 * _HOURS[zone]
    offset = re.search(r"([+-])(\d{2}):?(\d{2})?$", zone)
    if offset is None:
        return 0
    return int(offset[1] + "1") * (60 * int(offset[2]) + int(offset[3] or 0))


def _name(zone: str, minutes: int) -> str:
    if zone in ("Z", "UTC", "GMT"):
        return "Z"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def applied(moments: np.ndarray, zone: Zone, text: "polars.Series", where: str) -> tuple[np.ndarray, str]:
    """Return moments datetime64[us] as they are equally far apart, and what follows them when they are written.

    Days and months that begin at one time of the day stay as they are; hours over a change of clocks become those of UTC.
    """

    if zone.minutes is None and "/" not in zone.name:
        return moments, zone.name
    if days(moments):
        return moments, ""
    if zone.minutes is not None:
        return moments - zone.minutes.astype("timedelta64[m]"), "Z"
    return in_utc(moments, zone.name, text, where), zone.name


def check(place: str) -> None:
    """Refuse a place that is not known."""
    import polars

    try:
        polars.Series([0]).cast(polars.Datetime("us", "UTC")).dt.convert_time_zone(place)
    except polars.exceptions.PolarsError:
        raise UsageError(f"--zone {place!r} is not known; name a place, as Europe/Berlin") from None


def local(moments: np.ndarray, zone: str) -> np.ndarray:
    """Moments of UTC as the clocks of a place show them; of other zones as they are."""
    import polars

    if "/" not in zone or not len(moments):
        return moments
    utc = polars.Series(moments.astype("datetime64[us]")).dt.replace_time_zone("UTC")
    return np.asarray(utc.dt.convert_time_zone(zone).dt.replace_time_zone(None).to_numpy())


def suffixes(moments: np.ndarray, zone: str) -> list[str]:
    """What follows each of some moments as it is written: the zone, or the place's distance from UTC."""
    if "/" not in zone:
        return [zone] * len(moments)
    minutes = (local(moments, zone) - moments) // np.timedelta64(1, "m")
    return [_name("", each) for each in minutes.astype(np.int64).tolist()]


def in_utc(
    moments: np.ndarray, zone: str, text: "polars.Series", where: str, second: "polars.Series | None" = None
) -> np.ndarray:
    """Local times in UTC; of those that occur twice it is the first, or where `second` is true, the second."""
    import polars

    frame = polars.DataFrame({"local": moments, "second": [False] * len(moments) if second is None else second})
    which = polars.when("second").then(polars.lit("latest")).otherwise(polars.lit("earliest"))
    try:
        moved = polars.col("local").dt.replace_time_zone(zone, ambiguous=which, non_existent="null")
        local = frame.select(moved).to_series()
    except polars.exceptions.PolarsError:
        raise UsageError(f"{where} names the zone {zone!r}, which is not known; write times in UTC") from None
    if local.null_count():
        skipped = text.filter(local.is_null())[0]
        raise UsageError(f"{where} holds {skipped!r}, a time that clocks skip there; write times in UTC")
    return np.asarray(local.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy())


def days(moments: np.ndarray) -> bool:
    """Whether several moments have one time of the day."""
    return len(moments) > 1 and len(np.unique((moments - moments.astype("datetime64[D]")).astype(np.int64))) == 1
