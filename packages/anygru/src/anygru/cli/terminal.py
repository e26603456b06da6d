"""Helpers for output of commands: the terminal's width, plurals, printable names; and standard input."""

import contextlib
import os
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import CheckpointError
from . import existing, removing_temporary_files

if TYPE_CHECKING:
    from rich.console import Console

    from ..checkpoints.gate import Gate

STANDARD_INPUT = "-"
_ENDLESS = 1 << 16
_PIECE = 1 << 20


def console() -> "Console":
    """Return a console that wraps lines at the width of the terminal (or COLUMNS), and not in a file or a pipe."""
    from rich.console import Console

    console = Console(highlight=False)
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
        yield Gate(copy, limit, sandbox)
