"""List every GRU in source code that anygru could make faster or keep alive, with file and line. Nothing is run or imported."""

import argparse
import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import printable
from . import existing
from .terminal import console, count

ACCELERATE = "anygru.accelerate(model)"
KERAS = "anygru.accelerate(), with Keras on torch"
RUN = "anygru run, with anygru[{}]"
GRUS = {
    "torch.nn.GRU": ACCELERATE,
    "torch.nn.GRUCell": ACCELERATE,
    "keras.layers.GRU": KERAS,
    "keras.layers.GRUCell": KERAS,
    "tensorflow.keras.layers.GRU": "stays as it is on TensorFlow; with Keras on torch, anygru.accelerate()",
    "tensorflow.keras.layers.GRUCell": "stays as it is on TensorFlow; with Keras on torch, anygru.accelerate()",
    **{f"paddle.nn.{name}": RUN.format("paddle") for name in ("GRU", "GRUCell")},
    **{f"paddle.fluid.dygraph.{name}": RUN.format("paddle") for name in ("GRUCell", "GRUUnit")},
    **{f"oneflow.nn.{name}": RUN.format("oneflow") for name in ("GRU", "GRUCell")},
    **{f"mxnet.gluon.rnn.{name}": RUN.format("mxnet") for name in ("GRU", "GRUCell")},
    "mxnet.rnn.GRUCell": RUN.format("mxnet"),
    **{
        f"chainer.links.{name}": RUN.format("chainer")
        for name in ("GRU", "NStepBiGRU", "NStepGRU", "StatefulGRU", "StatefulMGU", "StatelessGRU")
    },
    **{f"chainer.functions.{name}": RUN.format("chainer") for name in ("n_step_bigru", "n_step_gru")},
}
"""The classes and functions, by their full names, and the way to anygru."""

_SAME = {
    "torch.nn.modules.rnn": "torch.nn",
    "tensorflow.python.keras.layers": "tensorflow.keras.layers",
    "tensorflow.compat.v1.keras.layers": "tensorflow.keras.layers",
    "oneflow.nn.modules.rnn": "oneflow.nn",
    "oneflow.experimental.nn": "oneflow.nn",
    "keras.layers.recurrent": "keras.layers",
    "mxnet.gluon.rnn.rnn_layer": "mxnet.gluon.rnn",
    "mxnet.gluon.rnn.rnn_cell": "mxnet.gluon.rnn",
}
"""Other modules that give the same classes."""

_LARGEST = 4 << 20
"""Files of more bytes are passed over: they are data."""
_LEFT_OUT = {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"}


class Found(NamedTuple):
    """A GRU: where it is made, its full name, and the way to anygru."""

    file: str
    line: int
    name: str
    way: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file or folder of Python source or notebooks")
    parser.add_argument("--json", action="store_true", help="print one JSON object per GRU instead of a table")


def main(args: argparse.Namespace) -> int:
    """Print the findings."""
    files, found, unread = 0, [], []
    for path in sources(args.paths):
        files += 1
        try:
            found += grus(path)
        except (OSError, ValueError, RecursionError) as error:
            unread.append(f"{path}: {error}")
    if args.json:
        for each in found:
            print(json.dumps(each._asdict()))
        return 0
    out = console()
    for each in found:
        out.print(printable(f"{each.file}:{each.line}  {each.name}  {each.way}"), markup=False)
    for line in unread:
        out.print(printable(f"not read: {line}"), markup=False)
    out.print(f"{count(len(found), 'GRU')} in {count(files, 'file')}")
    return 0


def sources(paths: list[str]) -> Iterator[Path]:
    """The Python files and notebooks of some paths, in the order of their names; hidden and installed ones are left out."""
    for given in paths:
        existing(given)
        if os.path.isfile(given):
            yield Path(given)
            continue
        for folder, folders, names in os.walk(given):
            folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                if path.suffix in (".py", ".ipynb") and path.is_file():
                    yield path


def grus(path: Path) -> list[Found]:
    """The GRUs that a file makes.

    Raises:
        ValueError: the file is too large, or is no text or notebook.
    """
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"more than {_LARGEST >> 20} MB")
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".ipynb":
        text = _code_of_notebook(text)
    try:
        named = _names_by_syntax(ast.parse(text))
    except (SyntaxError, ValueError):  # Python 2, or a template
        named = _names_by_text(text)
    return [Found(str(path), line, name, GRUS[name]) for line, name in named]


def _code_of_notebook(text: str) -> str:
    try:
        cells = json.loads(text)["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"no notebook: {error!r}") from None
    return "\n".join(re.sub(r"^\s*[%!].*$", "", cell, flags=re.MULTILINE) for cell in code)


def _names_by_syntax(tree: ast.AST) -> list[tuple[int, str]]:
    """Every call of a GRU, its name resolved through the imports of the file."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    calls = ((node.lineno, _full_name(node.func, known)) for node in ast.walk(tree) if isinstance(node, ast.Call))
    bases = (
        (node.lineno, _full_name(base, known))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    )
    return sorted((line, name) for line, name in (*calls, *bases) if name in GRUS)


def _full_name(node: ast.expr, known: dict[str, str]) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    module, _, name = ".".join([known.get(node.id, node.id), *reversed(parts)]).rpartition(".")
    return f"{_SAME.get(module, module)}.{name}"


def _names_by_text(text: str) -> list[tuple[int, str]]:
    """The same for a file that does not parse: names right in front of a parenthesis, if the file imports their framework."""
    imported = set(re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.MULTILINE))
    last = {name.rpartition(".")[2]: name for name in GRUS if name.partition(".")[0] in imported}
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in re.findall(r"(?<![\w'\"])(?:\w+\.)*(\w+)\(", line.partition("#")[0]):
            if word in last:
                found.append((number, last[word]))
    return found
