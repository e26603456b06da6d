"""Helpers for output of commands: the terminal's width, plurals, printable names; and standard input."""

import contextlib
import errno
import os
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import CheckpointError
from . import NARROWEST, UsageError, existing, removing_temporary_files

if TYPE_CHECKING:
    from rich.console import Console

    from ..checkpoints.gate import Gate

STANDARD_INPUT = "-"
_ENDLESS = 1 << 16
_PIECE = 1 << 20


def console() -> "Console":
    """Return a console that wraps lines at the width of the terminal (or COLUMNS), and not in a file or a pipe."""
    from rich.console import Console

    class Printing(Console):
        def on_broken_pipe(self) -> None:  # Rich would end the process with status 1
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    console = Printing(highlight=False)
    console.width = max(console.width, NARROWEST)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _ENDLESS
    return console


def folded(line: str, width: int) -> str:
    """Break a line that is wider than the terminal; colors have no width. Rich takes a millisecond for each line."""
    if len(line) <= width or len(re.sub(r"\x1b\[\d+m", "", line)) <= width:
        return line
    return textwrap.fill(line, width, subsequent_indent="    ", break_on_hyphens=False)


def count(number: int, noun: str) -> str:
    """Write a number with its noun in the singular or plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@contextlib.contextmanager
def names_of_any_script() -> Iterator[None]:
    """Draw letters that Matplotlib's font lacks as boxes, without a warning for each letter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield


@contextlib.contextmanager
def given(path: str, limit: int | None = None, sandbox: bool = True) -> Iterator["Gate"]:
    """Yield the gate of a command's file; for "-" of a copy of standard input, since readers seek in files.

    Raises:
        UsageError: there is no such file.
        CheckpointError: standard input has more than `limit` (4 GiB) bytes: it may have no end, and the copy would fill the
            disk.
    """
    from ..checkpoints.gate import Gate
    from ..checkpoints.reading.source import naming

    if path != STANDARD_INPUT:
        with removing_temporary_files():
            yield Gate(existing(path), limit, sandbox)
        return
    most = limit or 4 << 30
    with removing_temporary_files(), tempfile.TemporaryDirectory(prefix="anygru-") as folder:
        copy = os.path.join(folder, "standard-input")
        with open(copy, "wb") as out:
            copied = 0
            while piece := sys.stdin.buffer.read(_PIECE):
                copied += len(piece)
                if copied > most:
                    raise CheckpointError(f"standard input: more than {most} bytes; save it to a file, and name that")
                out.write(piece)
        with naming("standard input", instead=copy):
            yield Gate(copy, limit, sandbox)


def writable(argument: str, path: str, *inputs: str | None, folder: bool | None = False) -> str:
    """Return the path of a file or folder to write; commands ask before they work.

    Args:
        argument: its name on the command line, for the error.
        path: what the user gave.
        inputs: files that other arguments name.
        folder: whether a folder is written; None: its kind decides, and is checked where it is known.

    Raises:
        UsageError: the path is empty, standard output or one of the inputs; another kind of file is there; there is no folder
            for it.
    """
    if not path:
        raise UsageError(f"{argument} must not be empty")
    if path == STANDARD_INPUT:  # a file is moved to its place when it is whole; a pipe cannot be
        raise UsageError(
            f"{argument}: - is not standard output here; name a file or folder, or ./- for one of that name"
        )
    if os.path.realpath(path) in [os.path.realpath(each) for each in inputs if each and each != STANDARD_INPUT]:
        raise UsageError(f"{argument} {path}: another argument names this file; name a new one to write")
    from ..checkpoints.output.atomic import check_regular, resolved

    try:
        found = check_regular(resolved(path), path)
    except OSError as error:
        raise UsageError(f"{argument} {path}: {error.strerror}") from None
    if folder is None:
        return path
    if folder:
        if found is False or (found is None and os.path.islink(path)):
            raise UsageError(f"{argument} {path}: it is not a folder")
        return path
    if found or path.endswith(os.sep):
        raise UsageError(f"{argument} {path}: it is a folder; name a file")
    parent = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(parent):
        raise UsageError(f"{argument} {path}: there is no folder {parent}")
    return path
