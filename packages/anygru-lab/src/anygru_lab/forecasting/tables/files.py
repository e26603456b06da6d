"""Tables in files and pipes, and frames of polars and pandas."""

import io
import os
import stat
import sys
import zlib
from lzma import LZMAError
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile

from anygru import extend
from anygru.errors import CheckpointError
from anygru.extend import STANDARD_INPUT, UsageError, open_regular

from . import formats
from .delimited import Contents
from .formats import MOST_BYTES, too_large

if TYPE_CHECKING:
    import polars

_OF_A_SHELL = ("/dev/fd/", "/proc/self/fd/")
"""Where a shell puts the pipe of `<(command)`."""


def needed(package: str, purpose: str) -> Any:
    """Import a package of the extra for forecasts; UsageError if it is not installed."""
    return extend.needed(package, purpose, "forecast")


def read(path: str, encoding: str | None = None) -> Contents:
    """Return the table of a file.

    Args:
        path: CSV (fields end with a comma, a semicolon, a tab or a bar), or one of the formats of `formats`; "-" is standard
            input.
        encoding: of CSV; None: it is found.

    Raises:
        UsageError: the file cannot be read or is too large, or a package is not installed.
    """
    polars = needed("polars", "reading a table")
    try:
        with _opened(path) as file:
            return formats.read(path, file, encoding)
    except CheckpointError as error:
        raise UsageError(str(error)) from None
    except (polars.exceptions.PolarsError, OSError, EOFError, BadZipFile, LZMAError, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"cannot read {path!r}: {reason}") from None


def _opened(path: str) -> BinaryIO:
    """A regular file, or the bytes of what can be read only once.

    A pipe with a name in a folder is none: where nobody writes to it, one would wait for ever.
    """
    if path == STANDARD_INPUT:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    elif path.startswith(_OF_A_SHELL) and stat.S_ISFIFO(os.stat(path).st_mode):
        with open(path, "rb") as pipe:
            data = pipe.read(MOST_BYTES + 1)
    else:
        file = open_regular(path)
        if os.fstat(file.fileno()).st_size <= MOST_BYTES:
            return file
        file.close()
        raise too_large(path)
    if len(data) > MOST_BYTES:
        raise too_large(path)
    return io.BytesIO(data)


def of_any_frame(frame: Any) -> "polars.DataFrame":
    """Return a frame of polars or pandas as one of polars; an index of pandas with names or with times is columns.

    A series of pandas with such an index is a frame, too.
    """
    polars = needed("polars", "a forecast of a frame")
    if isinstance(frame, polars.DataFrame):
        return frame
    if isinstance(frame, polars.LazyFrame):
        return frame.collect()
    if type(frame).__module__.split(".")[0] != "pandas" or not hasattr(frame, "index") or not hasattr(frame, "dtypes"):
        raise UsageError(f"frame must be a DataFrame of polars or pandas, with its times, got {type(frame).__name__}")
    if not hasattr(frame, "columns"):
        frame = frame.to_frame("value" if frame.name is None else frame.name)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise UsageError(f"the frame has several columns {twice[0]!r}; give each a name of its own")
    if (
        frame.index.nlevels > 1
        or frame.index.name is not None
        or frame.index.dtype.kind == "M"
        or "period" in str(frame.index.dtype)
    ):
        frame = frame.reset_index()
    return polars.DataFrame([_column(str(name), frame[name]) for name in frame.columns])


def _column(name: str, column: Any) -> "polars.Series":
    """A column of pandas: times without their zone are kept in UTC, and NaN of objects is missing."""
    import polars

    if "period" in str(column.dtype):
        column = column.dt.to_timestamp()
    if column.dtype.kind == "M":
        zone = getattr(column.dtype, "tz", None)
        values = column.dt.tz_convert("UTC").dt.tz_localize(None) if zone is not None else column
        found = polars.Series(name, values.to_numpy().astype("datetime64[us]"))
        if zone is None:
            return found
        found = found.dt.replace_time_zone("UTC")
        return found.dt.convert_time_zone(str(zone)) if "/" in str(zone) else found
    if column.dtype.kind in "biuf" and type(column.dtype).__module__.startswith("numpy"):
        return polars.Series(name, column.to_numpy())
    missing = column.isna().to_list()
    values = [None if gone else each for gone, each in zip(missing, column.to_list(), strict=True)]
    return polars.Series(name, values, strict=False)


def like(frame: Any, result: "polars.DataFrame") -> Any:
    """Return a frame of polars as one of the same kind as `frame`."""
    if type(frame).__module__.split(".")[0] != "pandas":
        return result
    pandas = needed("pandas", "a frame of pandas")
    return pandas.DataFrame({each.name: _of_pandas(each, pandas) for each in result})


def _of_pandas(column: "polars.Series", pandas: Any) -> Any:
    zone = getattr(column.dtype, "time_zone", None)
    if zone is None:
        return column.to_list() if column.dtype.is_nested() else column.to_numpy()
    utc = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
    return pandas.DatetimeIndex(utc).tz_localize("UTC").tz_convert(zone)
