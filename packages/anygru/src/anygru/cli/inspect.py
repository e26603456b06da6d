"""Show what is in a checkpoint of any framework: tensors, shapes, dtypes, sizes, and the GRUs that are found.

Nothing in the file is run.
"""

import argparse
import re
from typing import TYPE_CHECKING, Any

from ..checkpoints import NAMES, Checkpoint, load_checkpoint
from ..errors import printable
from . import UsageError, removing_temporary_files
from .terminal import as_file, console, count

if TYPE_CHECKING:
    from rich.tree import Tree

BIDIRECTIONAL = (
    "a GRU of Chainer to read as one layer in two directions instead of two layers, which look the same in its files "
    "where the input is as wide as the state; may be repeated"
)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
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
    parser.add_argument("--plot", metavar="F.png", help="draw each weight's distribution into a picture")


def main(args: argparse.Namespace) -> int:
    """Print the tree, and draw the picture if `--plot` asks for it."""
    with removing_temporary_files(), as_file(args.file) as file:
        checkpoint = load_checkpoint(file, args.format, bidirectional=args.bidirectional, limit=args.limit)
        print_checkpoint(checkpoint)
        if args.plot:
            from .plot import draw

            draw(checkpoint, args.plot)
            print(printable(f"picture: {args.plot}"))
    return 0


def print_checkpoint(checkpoint: Checkpoint) -> None:
    """Print what a checkpoint holds."""
    out = console()
    total = sum(stored.nbytes for stored in checkpoint.stored.values())
    numbers = sum(stored.values.size for stored in checkpoint.stored.values())
    out.print(_line(f"{checkpoint.path}: {checkpoint.format}", style="bold"))
    tensors = count(len(checkpoint.stored), "tensor")
    out.print(_line(f"{tensors}, {count(numbers, 'number')}, {human_size(total)}"))
    if checkpoint.stored or checkpoint.values:
        out.print(_tree(checkpoint))
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


def _tree(checkpoint: Checkpoint) -> "Tree":
    from rich.tree import Tree

    root = Tree(_line("tensors"), hide_root=True)
    branches: dict[tuple[str, ...], Tree] = {(): root}

    def branch(pieces: tuple[str, ...]) -> "Tree":
        if pieces not in branches:
            branches[pieces] = branch(pieces[:-1]).add(_line(pieces[-1]))
        return branches[pieces]

    owners = {name: gru.path for gru in checkpoint.gru_layers for name in gru.names}
    for name, stored in checkpoint.stored.items():
        *home, leaf = _pieces(name)
        shape = " x ".join(map(str, stored.shape)) or "scalar"
        line = f"{leaf}  [{shape}]  {stored.dtype}  {human_size(stored.nbytes)}"
        branch(tuple(home)).add(_line(line, style="green" if name in owners else ""))
    for name, value in checkpoint.values.items():
        *home, leaf = _pieces(name)
        branch(tuple(home)).add(_line(f"{leaf} = {_short(value)}", style="dim"))
    return root


def _pieces(name: str) -> list[str]:
    """Split a name at dots and slashes; a name of nothing but separators stays whole."""
    return [piece for piece in re.split(r"[./]", name) if piece] or [name]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."
