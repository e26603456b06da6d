"""Tables of other formats than CSV, told by the bytes that they begin with: Parquet, Arrow, Excel, JSON; and packed files."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

from anygru import extend
from anygru.extend import UsageError

from . import delimited, edges
from .delimited import Contents

MOST_BYTES = 2 << 30  # of a file, unpacked, and of the table in memory
_PACKED: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_WORKBOOK = "xl/workbook"
MOST_ABOVE = 100  # rows of a sheet that show where its names are


def read(path: str, file: BinaryIO, encoding: str | None) -> Contents:
    """Return the table of a file that can be read from its beginning again.

    Raises:
        UsageError: the file holds no table, or one that is too large.
    """
    file = _unpacked(path, file)
    start = file.read(64)
    file.seek(0)
    if start.startswith((_ZIP, _OLD_EXCEL)):
        return _of_excel(path, file.read())
    if start.startswith(b"PAR1"):
        return _of_parquet(path, file)
    if start.lstrip().startswith(b"<"):
        raise UsageError(
            f"{path!r} is HTML or XML, as some sites name .xls; open it in a spreadsheet, and save it as CSV"
        )
    import polars

    readers: dict[bytes, Callable[[Any], Any]] = {b"ARROW1": polars.read_ipc, b"{": _of_objects, b"[": polars.read_json}
    for mark, reader in readers.items():
        if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(mark):
            return Contents(reader(file.read()))
    return delimited.read(path, file, encoding)


def _of_objects(data: bytes) -> Any:
    """A row for each object of JSON; one object with all columns, as pandas writes it, or with all rows is the table."""
    import polars

    frame = polars.read_ndjson(data)
    if frame.height != 1:
        return frame
    columns = frame.row(0, named=True)
    if frame.width == 1 and isinstance(rows := next(iter(columns.values())), list):
        return polars.DataFrame(rows, infer_schema_length=None)
    if frame.width > 1 and all(isinstance(each, list | dict) for each in columns.values()):
        return polars.DataFrame(
            {name: list(each.values()) if isinstance(each, dict) else each for name, each in columns.items()}
        )
    return frame


def _unpacked(path: str, file: BinaryIO) -> BinaryIO:
    start = file.read(8)
    file.seek(0)
    for mark, opened in _PACKED.items():
        if start.startswith(mark):
            with opened(file) as inside:
                return _whole(path, inside)
    if not start.startswith(_ZIP):
        return file
    with zipfile.ZipFile(file) as archive:
        members = [each for each in archive.infolist() if not each.is_dir()]
        if any(each.filename.startswith(_WORKBOOK) for each in members):
            if sum(each.file_size for each in members) > MOST_BYTES:
                raise too_large(path)
            file.seek(0)
            return io.BytesIO(file.read())  # the archive closes with its file
        if len(members) != 1:
            raise UsageError(f"{path!r} holds {len(members)} files; unpack it, and name the one with the table")
        with archive.open(members[0]) as inside:
            return _whole(path, inside)


def _whole(path: str, packed: Any) -> BinaryIO:
    data = packed.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise too_large(path)
    return io.BytesIO(data)


def too_large(path: str) -> UsageError:
    return UsageError(f"{path!r} has more than the {MOST_BYTES:,} bytes that are read")


def _of_excel(path: str, data: bytes) -> Contents:
    fastexcel = extend.needed("fastexcel", "reading a workbook of Excel", "forecast")
    try:
        book = fastexcel.read_excel(data)
        top = book.load_sheet(0, header_row=None, skip_rows=0, n_rows=MOST_ABOVE, dtypes="string").to_polars()
        rows = [[field or "" for field in row] for row in top.rows()]
        at = next((n for n, row in enumerate(rows) if not edges.is_title(row, edges.usual(rows[n:]))), 0)
        head, levels = edges.names_of(rows[at:])
        frame = book.load_sheet(
            0, header_row=at + levels - 1, schema_sample_rows=None, whitespace_as_null=True
        ).to_polars()
    except fastexcel.FastExcelError as error:
        raise UsageError(f"cannot read {path!r}: {str(error).splitlines()[0]}") from None
    delimited.check_names(path, head)
    frame, remark = edges.without_notes(delimited.named(frame, head))
    names = book.sheet_names
    several = f"of {len(names)} sheets, {names[0]!r} is read" if len(names) > 1 else ""
    return Contents(frame, remark="; ".join(filter(None, [several, remark])))


def _of_parquet(path: str, file: BinaryIO) -> Contents:
    import polars

    lazy = polars.scan_parquet(file)
    columns = len(lazy.collect_schema())
    if columns > delimited.MOST_COLUMNS:
        raise delimited.too_wide(path, columns)
    cells = lazy.select(polars.len()).collect().item() * columns
    if 8 * cells > MOST_BYTES:  # a small file may hold a large table
        raise UsageError(f"{path!r} holds {cells:,} numbers, more than fit into {MOST_BYTES:,} bytes")
    return Contents(lazy.collect())
