"""Show the contents of a checkpoint of any framework: tensors, shapes, dtypes, sizes, and the GRUs that are found.

Nothing in the file is run.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any

from ..checkpoints import NAMES, Checkpoint, stack
from ..checkpoints.writing import provenance
from ..errors import printable
from . import UsageError
from .terminal import console, count, folded, given

BIDIRECTIONAL = (
    "a GRU of Chainer to read as one layer in two directions instead of two layers, which look the same in its files "
    "where the input is as wide as the state; may be repeated"
)
NO_SANDBOX = "read HDF5, Keras and ONNX files in this process (default: in one with limits on memory and time)"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="a checkpoint: a file, the folder of a OneFlow state, or - for standard input"
    )
    parser.add_argument("--format", choices=sorted(NAMES), help="the format (default: recognised by content)")
    parser.add_argument("--bidirectional", metavar="NAME", action="append", default=[], help=BIDIRECTIONAL)
    parser.add_argument(
        "--limit",
        type=byte_count,
        metavar="BYTES",
        help="the most memory to make from the file, as 500M or 2G (default: 64M and 32 times the file's size)",
    )
    parser.add_argument("--no-sandbox", dest="sandbox", action="store_false", help=NO_SANDBOX)
    parser.add_argument("--plot", metavar="F.png", help="draw each weight's distribution into a picture")


def main(args: argparse.Namespace) -> int:
    """Print the tree, and draw the picture if `--plot` asks for it."""
    if args.plot is not None:
        from .plot import check

        check(args.plot, args.file)
    with given(args.file, args.limit, args.sandbox) as file:
        checkpoint = Checkpoint.behind(file, args.format, args.bidirectional)
        print_checkpoint(checkpoint)
        if args.plot:
            from .plot import draw

            draw(checkpoint, args.plot)
    return 0


def print_checkpoint(checkpoint: Checkpoint) -> None:
    """Print the contents of a checkpoint."""
    out = console()
    total = sum(stored.nbytes for stored in checkpoint.stored.values())
    numbers = sum(stored.values.size for stored in checkpoint.stored.values())
    out.print(_line(f"{checkpoint.path}: {checkpoint.format}", style="bold"))
    tensors = count(len(checkpoint.stored), "tensor")
    out.print(_line(f"{tensors}, {count(numbers, 'number')}, {human_size(total)}"))
    if checkpoint.stored or checkpoint.values:
        _print_tree(checkpoint, colored=out.is_terminal and not out.no_color, width=out.width)
    if (model := stack.model_of(checkpoint.content.metadata, checkpoint.path)) is not None:
        out.print(_line(f"layers, one after another: {stack.describe(model)}"))
    for line in provenance.lines(checkpoint):
        out.print(_line(line, style="red" if "OTHERS" in line else ""))
    out.print(_line("GRUs" if checkpoint.gru_layers else "no GRU found", style="bold"))
    for gru in checkpoint.gru_layers:
        out.print(_line(f"  {gru.path or '(the whole file)'}: {gru.describe()}, {gru.dtype}", style="green"))
        if gru.problem:
            out.print(_line(f"    cannot be computed: {gru.problem}", style="red"))
        for note in gru.notes:
            out.print(_line(f"    note: {note}", style="yellow"))


def byte_count(text: str) -> int:
    """Read a number of bytes, with K, M, G or T for powers of 1024.

    Raises:
        UsageError: the text is none.
    """
    match = re.fullmatch(r"(\d{1,15})([KMGT]?)(?:i?B)?", text, re.ASCII | re.IGNORECASE)
    if match is None:
        raise UsageError(f"--limit must be a number of bytes such as 500M, got {text!r}")
    return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")


def human_size(count: int) -> str:
    """Format a number of bytes with a unit."""
    size = float(count)
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the last unit takes everything")


def _line(text: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(printable(text), style=style, overflow="fold")


_DEEPEST = 24
"""Levels of the tree; deeper levels are written in one line."""
_LONGEST = 400
"""Letters of a name that are shown."""
_GREEN, _DIM, _PLAIN = "\x1b[32m", "\x1b[2m", "\x1b[0m"

Tree = dict[str, "Tree | str"]


def _print_tree(checkpoint: Checkpoint, colored: bool, width: int) -> None:
    """Print each tensor and value at its place; the time per name is constant."""
    owned = {name for gru in checkpoint.gru_layers for name in gru.names}
    tree: Tree = {}
    for name, stored in checkpoint.stored.items():
        shape = " x ".join(map(str, stored.shape)) or "scalar"
        text = f"  [{shape}]  {stored.dtype}  {human_size(stored.nbytes)}"
        _place(tree, name, text, _GREEN if colored and name in owned else "")
    for name, value in checkpoint.values.items():
        _place(tree, name, f" = {_short(value)}", _DIM if colored else "")
    fancy = "utf" in (sys.stdout.encoding or "").lower()
    marks = ("├── ", "└── ", "│   ") if fancy else ("+-- ", "`-- ", "|   ")
    for name, entry in tree.items():
        lines = [entry] if isinstance(entry, str) else [_shown(name), *_lines(entry, "", marks)]
        sys.stdout.writelines(f"{folded(line, width)}\n" for line in lines)


def _place(tree: Tree, name: str, text: str, style: str) -> None:
    *home, leaf = _pieces(name)
    for piece in home:
        below = tree.setdefault(piece, {})
        if isinstance(below, str):  # a tensor is named like a branch: repeat the name of the branch
            below = tree.setdefault(piece + ".", {})
        tree = below if isinstance(below, dict) else {}
    line = f"{style}{_shown(leaf)}{printable(text)}{_PLAIN if style else ''}"
    tree[leaf if leaf not in tree else f"{leaf}.{len(tree)}"] = line


def _lines(tree: Tree, before: str, marks: tuple[str, str, str]) -> Iterator[str]:
    last = len(tree) - 1
    for number, (name, entry) in enumerate(tree.items()):
        yield before + marks[number == last] + (entry if isinstance(entry, str) else _shown(name))
        if isinstance(entry, dict):
            yield from _lines(entry, before + ("    " if number == last else marks[2]), marks)


def _shown(name: str) -> str:
    return printable(name if len(name) <= _LONGEST else f"{name[:_LONGEST]} ... ({len(name):,} letters)")


def _pieces(name: str) -> list[str]:
    """Split a name at dots and slashes; a name of separators only stays whole."""
    pieces = [piece for piece in re.split(r"[./]", name, maxsplit=_DEEPEST) if piece]
    return pieces or [name]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."
