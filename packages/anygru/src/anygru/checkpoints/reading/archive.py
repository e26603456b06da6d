"""Zip archives with a directory that is checked before members are unpacked; `.npz` and torch's `.pt` are zip archives."""

import os
import struct
import zipfile
import zlib
from typing import IO, cast

from ...errors import CheckpointError
from .budget import PER_OBJECT, Budget
from .source import MAP_FROM, Cursor, open_bytes

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_ENCRYPTED = 1
_PIECE = 1 << 20

_DAMAGE = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, KeyError, IndexError, OverflowError,
    struct.error, zlib.error, OSError,
)  # fmt: skip
"""Further exceptions that Python's zip reader raises for damaged archives."""


class _ViewFile:
    """The part of a file's interface that `zipfile` reads with, over bytes in memory and without a copy of them."""

    def __init__(self, data: memoryview):
        self._data = data
        self._position = 0

    def seekable(self) -> bool:
        """Return True: the file is seekable."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self._data)}[whence]
        if start + offset < 0:
            raise OSError(f"a seek to {start + offset}, before the file's beginning")  # as a file of the system does
        self._position = start + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; memory is bounded by the available bytes, not by the archive's header."""
        end = len(self._data) if size < 0 else self._position + size
        piece = bytes(self._data[self._position : end])
        self._position += len(piece)
        return piece

    def close(self) -> None:
        """Do nothing: members' bytes stay valid."""


def leads_out(name: str) -> bool:
    """Whether a member's name would lead out of a folder that the archive were unpacked in, or is cut short at a zero byte."""
    parts = name.replace("\\", "/").split("/")
    return name.startswith(("/", "\\")) or ".." in parts or "\0" in name or ":" in name[:2]


class Archive:
    """A zip archive, its members by name; closed at the end of a `with` block. Members' bytes stay valid after it.

    Args:
        path: the file.
        budget: counts the directory and the unpacked members.

    Raises:
        CheckpointError: the directory is damaged, has a name twice, names outside the archive, encrypted or
            overlapping members.
    """

    def __init__(self, path: str | os.PathLike[str], budget: Budget):
        self.where = os.fspath(path)
        self._budget = budget
        self._data = open_bytes(path, budget)
        try:
            # the bytes that were read, not the path, which may lead to another file now
            self._archive = zipfile.ZipFile(cast(IO[bytes], _ViewFile(self._data)))
        except _DAMAGE as error:
            raise CheckpointError(f"{self.where}: damaged zip archive: {error}") from error
        self._entries: dict[str, zipfile.ZipInfo] = {}
        try:
            self._check_directory(self._archive.infolist())
        except BaseException:
            self._archive.close()
            raise

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *unused: object) -> None:
        self._archive.close()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    @property
    def names(self) -> list[str]:
        """The members' names in the order of the archive's directory."""
        return list(self._entries)

    def size(self, name: str) -> int:
        """Bytes of a member when unpacked."""
        return self._entries[name].file_size

    def read(self, name: str) -> bytearray:
        """Unpack a member, its checksum checked."""
        self._budget.take(self.size(name))
        data = bytearray()
        try:
            with self._archive.open(self._entries[name]) as member:
                # in pieces: a plain read() would unfold the whole member, however little its size announces
                while piece := member.read(_PIECE):
                    data += piece
        except _DAMAGE as error:
            raise CheckpointError(f"{self.where}: {name}: damaged: {error}") from error
        if len(data) != self.size(name):
            raise CheckpointError(f"{self.where}: {name}: {len(data)} bytes came out, {self.size(name)} were announced")
        return data

    def content(self, name: str) -> memoryview:
        """Give a member's bytes: a view of a large stored file, otherwise a copy with its checksum checked."""
        if self._entries[name].compress_type == zipfile.ZIP_STORED and len(self._data) >= MAP_FROM:
            return self._view(name)
        return memoryview(self.read(name))

    def _view(self, name: str) -> memoryview:
        """The bytes of a stored member, which follow its header in the file."""
        entry = self._entries[name]
        cursor = Cursor(self._data, f"{self.where}: {name}")
        cursor.position = min(entry.header_offset, len(self._data))
        header = _LOCAL_HEADER.unpack(cursor.take(_LOCAL_HEADER.size, "the member's header"))
        if header[0] != b"PK\x03\x04":
            cursor.fail("the member's header is missing", entry.header_offset)
        written = bytes(cursor.take(header[9], "the member's name"))
        encoding = "utf-8" if entry.flag_bits & 0x800 else "cp437"
        if written != entry.orig_filename.encode(encoding, "replace"):
            cursor.fail("the member's header has another name than the directory", entry.header_offset)
        cursor.take(header[10], "the member's extra field")
        return cursor.take(self.size(name), "the member")

    def _check_directory(self, entries: list[zipfile.ZipInfo]) -> None:
        self._budget.take(2 * PER_OBJECT * len(entries))
        for entry in entries:
            self._check_entry(entry)
            self._entries[entry.filename] = entry
        self._check_overlaps()

    def _check_entry(self, entry: zipfile.ZipInfo) -> None:
        name, place = entry.filename, f"{self.where}: member {entry.filename!r}"
        if name in self._entries:
            raise CheckpointError(f"{place}: the name occurs twice")
        if leads_out(name):
            raise CheckpointError(f"{place}: the name leads out of the archive")
        if entry.flag_bits & _ENCRYPTED:
            raise CheckpointError(f"{place}: the member is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CheckpointError(f"{place}: compression method {entry.compress_type}, expected stored or deflated")
        if entry.compress_size > len(self._data) - entry.header_offset or entry.header_offset < 0:
            raise CheckpointError(f"{place}: {entry.compress_size} bytes are announced, more than the file has")
        if entry.compress_type == zipfile.ZIP_STORED and entry.compress_size != entry.file_size:
            raise CheckpointError(f"{place}: {entry.file_size} bytes announced, {entry.compress_size} stored")

    def _check_overlaps(self) -> None:
        end, last = 0, ""
        for entry in sorted(self._entries.values(), key=lambda entry: entry.header_offset):
            if entry.header_offset < end:
                raise CheckpointError(f"{self.where}: the members {last!r} and {entry.filename!r} overlap")
            end, last = entry.header_offset + _LOCAL_HEADER.size + entry.compress_size, entry.filename
