"""Helpers for output of commands: the terminal's width, plurals, printable names; and standard input."""

import contextlib
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import CheckpointError

if TYPE_CHECKING:
    from rich.console import Console

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
def as_file(path: str, most: int = 4 << 30) -> Iterator[str]:
    """Yield the path; for "-" the path of a temporary file with the contents of standard input, since readers seek in files.

    Raises:
        CheckpointError: standard input has more than `most` bytes: it may have no end, and the copy would fill the disk.
    """
    if path != STANDARD_INPUT:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="anygru-") as folder:
        copy = os.path.join(folder, "standard-input")
        with open(copy, "wb") as out:
            copied = 0
            while piece := sys.stdin.buffer.read(_PIECE):
                copied += len(piece)
                if copied > most:
                    raise CheckpointError(f"standard input: more than {most} bytes; save it to a file, and name that")
                out.write(piece)
        yield copy
