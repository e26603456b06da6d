"""Writing a file or a folder so that a crash, a kill or a full disk leaves the old one as it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["folder_for_replace", "open_for_replace"]

#: What a new file may be read and written by before the process's own mask is taken off.
_NEW_FILE_MODE = 0o666
_NEW_FOLDER_MODE = 0o777


@contextlib.contextmanager
def open_for_replace(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a new file that takes the place of `path` when the block ends without an error.

    The bytes go to a temporary file in the same folder, are flushed and fsynced, and the file is renamed over `path`;
    whatever happens before that, the old file is whole. On an error nothing is left behind (after SIGKILL a file
    named `.<name>.*.tmp` stays). A symbolic link is followed, so that the file behind it is replaced.

    Args:
        path: the file to write; its folder must exist.
        mode: "wb" or "w".

    Raises:
        ValueError: for another mode.
        OSError: whatever the file system says (no space, no permission); the old file is untouched.

    Example:
        with open_for_replace("model.bin") as file:
            file.write(b"...")
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"open_for_replace: mode must be 'wb' or 'w', got {mode!r}")
    target = Path(os.path.realpath(path))
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, mode, encoding=None if mode == "wb" else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_of(target, _NEW_FILE_MODE))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


@contextlib.contextmanager
def folder_for_replace(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty folder that takes the place of the folder `path` when the block ends without an error.

    A folder cannot be renamed over a full one, so the old one steps aside for the instant between two renames; a
    process killed in that instant leaves it whole under `.<name>.*.old`. Files written inside are fsynced here.

    Raises:
        NotADirectoryError: `path` is a file.
        OSError: whatever the file system says; the old folder is untouched.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{path} is a file, and a folder is to be written there")
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent))
    try:
        yield temporary
        for folder, _, names in os.walk(temporary):
            for name in names:
                _sync_file(os.path.join(folder, name))
            _sync_folder(folder)
        os.chmod(temporary, _mode_of(target, _NEW_FOLDER_MODE))
        _swap_folders(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync_folder(target.parent)


def _swap_folders(new: Path, target: Path) -> None:
    if not target.exists():
        os.rename(new, target)
        return
    old = new.with_suffix(".old")
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _mode_of(target: Path, default: int) -> int:
    """The permissions of what is replaced, or those that a new file would have got."""
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return default & ~mask


def _sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: str | os.PathLike[str]) -> None:
    """Make a rename durable; where folders cannot be opened (Windows) the rename itself has to do."""
    with contextlib.suppress(OSError):
        _sync_file(os.fspath(path))
