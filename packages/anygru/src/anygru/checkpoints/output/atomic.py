"""Write a file so that a crash, a kill or a full disk leaves the old file unchanged."""

import contextlib
import errno
import io
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from ...errors import CheckpointError

_NEW_FILE_MODE = 0o666
"""The permissions of a new file, from which the process's mask takes some."""
_PIECE = 16 << 20


@contextlib.contextmanager
def open_for_replace(
    path: str | os.PathLike[str], mode: str = "wb", progress: Callable[[int], None] | None = None
) -> Iterator[IO[Any]]:
    """Open a new file that takes the place of `path` when the block ends without an error.

    The bytes go to a temporary file in the same folder, are flushed and fsynced, and the file is renamed over `path`;
    whatever happens before that, the old file is whole. On an error no temporary file remains (after SIGKILL a
    file named `.<name>.*.tmp` stays). A symbolic link is followed, so that its target is replaced.

    Args:
        path: the file to write; its folder must exist.
        mode: "wb" (readable as well, since HDF5 reads its own output) or "w".
        progress: called with the number of bytes whenever some were written.

    Raises:
        ValueError: for another mode.
        CheckpointError: the path is a device or another thing that is not a regular file.
        OSError: an error of the file system (no space, no permission); the old file is untouched.

    Example:
        with open_for_replace("model.bin") as file:
            file.write(b"...")
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"open_for_replace: mode must be 'wb' or 'w', got {mode!r}")
    target = resolved(path)
    if check_regular(target, path):  # the rename would fail only after all bytes are written
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    temporary = target.parent / f".{_shortened(target.name)}.{secrets.token_hex(8)}.tmp"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with _named(path):
        permissions = _old_mode(target)
        descriptor = os.open(temporary, flags, _NEW_FILE_MODE if permissions is None else permissions & _NEW_FILE_MODE)
    try:
        with io.BufferedRandom(_CountedFile(descriptor, progress)) as binary:
            file: IO[Any] = binary if mode == "wb" else io.TextIOWrapper(binary, "utf-8")
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _named(path):
            _replace(temporary, target, permissions)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(target.parent)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], put_in_place: Callable[[Path, Path], None] | None = None) -> Iterator[Path]:
    """Yield a place for a new file; when the block ends without an error, the file takes the place of `path`.

    Files that the block writes next to it are moved before it, so a kill between two moves can leave them new and `path` old.
    Before that, all are in a folder near the target. Its
    name cannot be guessed, and only this user can write in it: no other user can plant a link there, and a second writer
    uses another folder. On an error the old file is whole (after SIGKILL a folder named `.anygru-*` stays).

    Args:
        path: the file or folder to write; a symbolic link is followed.
        put_in_place: moves a written folder to its place.

    Raises:
        CheckpointError: the path is a device or another thing that is not a regular file.
        OSError: an error of the file system.
    """
    target = resolved(path)
    check_regular(target, path)
    parent = target.parent
    if put_in_place is not None:  # a folder is created with its parents
        parent = next(folder for folder in target.parents if folder.is_dir())
    with _named(path):
        folder = Path(tempfile.mkdtemp(prefix=".anygru-", dir=parent))
    try:
        yield folder / target.name
        if put_in_place is not None:
            put_in_place(folder / target.name, target)
            return
        for written in sorted(folder.iterdir(), key=lambda file: file.name == target.name):
            with open(written, "rb") as file:
                os.fsync(file.fileno())
            with _named(path):
                _replace(written, target.parent / written.name, _old_mode(target))
        sync_folder(target.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give errors of the file system the caller's path instead of a temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def check_regular(target: Path, path: str | os.PathLike[str]) -> bool | None:
    """Refuse to replace a target that is not a regular file or a folder: a rename over a device would remove it.

    Returns:
        Whether the target is a folder; None where there is no target. A second look might find what another process put there.

    Raises:
        CheckpointError: it is a device, a FIFO or a socket.
    """
    try:
        mode = target.stat().st_mode
    except OSError:  # no target, or an error that writing will raise
        return None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise CheckpointError(f"{os.fspath(path)}: cannot be written: it exists and is not a regular file")
    return stat.S_ISDIR(mode)


def _shortened(name: str) -> str:
    """The beginning of a name that leaves room for more; file systems allow 255 bytes, and a letter may take four."""
    return name[:100] if name.isascii() else name[:50]


class _CountedFile(io.FileIO):
    """A file that reports how much is written, and splits large pieces so that there is progress to report."""

    def __init__(self, descriptor: int, progress: Callable[[int], None] | None):
        super().__init__(descriptor, "w+b")
        self._progress = progress

    def write(self, data: Any, /) -> int:
        written = super().write(memoryview(data).cast("B")[:_PIECE])
        if self._progress is not None:
            self._progress(written)
        return written


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Make renames in a folder durable; where folders cannot be opened (Windows) the rename itself has to do."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _old_mode(target: Path) -> int | None:
    """The permissions of the file that is replaced; None: the file does not exist."""
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def _replace(written: Path, target: Path, permissions: int | None) -> None:
    if permissions is not None:  # a new file has the default permissions
        os.chmod(written, permissions)
    os.replace(written, target)


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the place that a path leads to, through links as the kernel follows them.

    Raises:
        CheckpointError: a link of another user in a shared folder with the sticky bit (such as /tmp): it may have been
            planted. Linux's own rule, protected_symlinks in proc_sys_fs(5).
    """
    if os.name != "posix":
        return Path(os.path.realpath(path))
    place, *names = (Path(path) if os.path.isabs(path) else Path(os.getcwd(), path)).parts
    here, waiting, links = Path(place), names[::-1], 0
    while waiting:
        name = waiting.pop()
        step = here.parent if name == ".." else here / name
        if not step.is_symlink():
            here = step
            continue
        folder, link = here.stat(), step.lstat()
        of_everybody = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if of_everybody and link.st_uid not in (os.geteuid(), folder.st_uid):
            raise CheckpointError(
                f"{os.fspath(path)}: cannot be written: {step} is a link of another user in a folder that all users can write to"
            )
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        target = Path(os.readlink(step))
        here = Path(target.anchor) if target.is_absolute() else here
        waiting += [part for part in target.parts[::-1] if part != target.anchor]
    return here


_MOST_LINKS = 40
"""The limit of Linux."""
