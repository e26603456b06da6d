"""What a process holds in the temporary folder until it ends, however it does: folders of its own, and names."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# One of a process that was killed is nobody's, and the next process removes it.
_FRESH = 60.0  # seconds in which a folder is left alone that its process may not hold yet


@contextlib.contextmanager
def held_folder(prefix: str) -> Iterator[Path]:
    """A new folder, which goes at the end; those with this prefix that nobody holds any more go at once."""
    for path in Path(tempfile.gettempdir()).glob(prefix + "*"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _FRESH:
                _remove_left(path)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    held = _hold(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def _remove_left(folder: Path) -> None:
    held = _hold(folder, os.O_RDONLY | os.O_DIRECTORY)
    if held is not None:
        if os.fstat(held).st_uid == os.getuid():
            shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


_claims: list[int] = []


def claimed(name: str) -> bool:
    """Return whether this process has a name to itself, among those of one user on a machine, from now on until it ends.

    Without locks of the system every process has.
    """
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return True
    path = Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}.lock"
    held = _hold(path, os.O_WRONLY | os.O_CREAT)
    if held is not None:
        _claims.append(held)
    return held is not None


def _hold(path: Path, flags: int = os.O_RDONLY) -> int | None:
    """Lock a file or folder until this process ends, however it does; None if it is locked, or the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    opened = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
