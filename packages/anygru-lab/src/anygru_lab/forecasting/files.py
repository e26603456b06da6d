"""Tables in files: CSV and Parquet, and frames of polars and pandas."""

import io
import os
import sys
from typing import TYPE_CHECKING, Any

from anygru import extend
from anygru.errors import CheckpointError
from anygru.extend import STANDARD_INPUT, UsageError, open_regular

from . import delimited

if TYPE_CHECKING:
    import polars

MOST_BYTES = 2 << 30  # of a file, and of the table in memory


def needed(package: str, purpose: str) -> Any:
    """Import a package of the extra for forecasts; UsageError if it is not installed."""
    return extend.needed(package, purpose, "forecast")


def read(path: str) -> "tuple[polars.DataFrame, bool | None]":
    """Return the table of a file, and whether its numbers have decimal commas; None if that does not show.

    Args:
        path: the file; Parquet if its name ends in .parquet, otherwise CSV (fields end with a comma, a semicolon, a tab or a
            bar); "-" is CSV on standard input.

    Raises:
        UsageError: the file cannot be read or is too large, or polars is not installed.
    """
    polars = needed("polars", "reading a table")
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise UsageError(f"standard input has more than the {MOST_BYTES:,} bytes that are read")
            return delimited.read(path, io.BytesIO(data))
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MOST_BYTES:
                raise UsageError(f"{path!r} has {size:,} bytes, more than the {MOST_BYTES:,} that are read")
            if not path.endswith(".parquet"):
                return delimited.read(path, file)
        lazy = polars.scan_parquet(path)
        columns = len(lazy.collect_schema())
        if columns > delimited.MOST_COLUMNS:
            raise delimited.too_wide(path, columns)
        cells = lazy.select(polars.len()).collect().item() * columns
        if 8 * cells > MOST_BYTES:  # a small file may hold a large table
            raise UsageError(f"{path!r} holds {cells:,} numbers, more than fit into {MOST_BYTES:,} bytes")
        return lazy.collect(), False
    except CheckpointError as error:
        raise UsageError(str(error)) from None
    except (polars.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"cannot read {path!r}: {reason}") from None


def of_any_frame(frame: Any) -> "polars.DataFrame":
    """Return a frame of polars or pandas as one of polars; an index of pandas with a name or with times is a column."""
    polars = needed("polars", "a forecast of a frame")
    if isinstance(frame, polars.DataFrame):
        return frame
    if isinstance(frame, polars.LazyFrame):
        return frame.collect()
    if type(frame).__module__.split(".")[0] != "pandas" or not hasattr(frame, "columns"):
        raise UsageError(f"frame must be a DataFrame of polars or pandas, got {type(frame).__name__}")
    if frame.index.name is not None or frame.index.dtype.kind == "M" or "period" in str(frame.index.dtype):
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
    return pandas.DataFrame(
        {each.name: each.to_list() if each.dtype.is_nested() else each.to_numpy() for each in result}
    )
