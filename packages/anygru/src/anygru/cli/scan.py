"""List every GRU in source code that anygru could make faster or keep alive, with file and line. No code is run or imported."""

import argparse
import ast
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..checkpoints.gate import Gate
from ..errors import AnygruError, printable
from . import existing
from .terminal import console, count, folded

ACCELERATE = "anygru.accelerate(model)"
KERAS = "anygru.accelerate(), with Keras on torch"
RUN = "anygru run, with anygru[{}]"
TENSORFLOW = "stays as it is on TensorFlow; with Keras on torch, anygru.accelerate()"
STATIC = "of static graphs, which are not covered; paddle.nn.GRU, with anygru[paddle]"
GRUS = {
    "torch.nn.GRU": ACCELERATE,
    "torch.nn.GRUCell": ACCELERATE,
    "keras.layers.GRU": KERAS,
    "keras.layers.GRUCell": KERAS,
    "keras.layers.CuDNNGRU": f"keras.layers.GRU of Keras 3; {KERAS}",
    **{f"tensorflow.keras.layers.{name}": TENSORFLOW for name in ("GRU", "GRUCell", "CuDNNGRU")},
    **{f"paddle.nn.{name}": RUN.format("paddle") for name in ("GRU", "GRUCell")},
    **{f"paddle.fluid.dygraph.{name}": RUN.format("paddle") for name in ("GRUCell", "GRUUnit")},
    **{f"paddle.fluid.layers.{name}": STATIC for name in ("GRUCell", "dynamic_gru", "gru_unit")},
    **{f"oneflow.nn.{name}": RUN.format("oneflow") for name in ("GRU", "GRUCell")},
    **{f"mxnet.gluon.rnn.{name}": RUN.format("mxnet") for name in ("GRU", "GRUCell")},
    **{f"mxnet.gluon.contrib.rnn.Conv{n}DGRUCell": RUN.format("mxnet") for n in (1, 2, 3)},
    **{f"mxnet.{name}": RUN.format("mxnet") for name in ("rnn.GRUCell", "rnn.FusedRNNCell", "nd.RNN", "sym.RNN")},
    **{
        f"chainer.links.{name}": RUN.format("chainer")
        for name in ("GRU", "NStepBiGRU", "NStepGRU", "StatefulGRU", "StatefulMGU", "StatelessGRU", "StatelessMGU")
    },
    **{f"chainer.functions.{name}": RUN.format("chainer") for name in ("n_step_bigru", "n_step_gru")},
}
"""The classes and functions, by their full names, and the way to anygru."""

_MODES = {"FusedRNNCell", "RNN"}
"""The last words of names that give a GRU only with the mode "gru"."""

_SAME = {
    "torch.nn.modules.rnn": "torch.nn",
    "tensorflow.python.keras.layers": "tensorflow.keras.layers",
    "tf_keras.layers": "tensorflow.keras.layers",
    "paddle.fluid.dygraph.nn": "paddle.fluid.dygraph",
    "paddle.fluid.dygraph.rnn": "paddle.fluid.dygraph",
    "tensorflow.compat.v1.keras.layers": "tensorflow.keras.layers",
    "oneflow.nn.modules.rnn": "oneflow.nn",
    "oneflow.experimental.nn": "oneflow.nn",
    "keras.layers.recurrent": "keras.layers",
    "mxnet.gluon.rnn.rnn_layer": "mxnet.gluon.rnn",
    "mxnet.gluon.rnn.rnn_cell": "mxnet.gluon.rnn",
    "mxnet.ndarray": "mxnet.nd",
    "mxnet.symbol": "mxnet.sym",
}
"""Other modules that give the same classes."""

_MOST_PARTS = max(name.count(".") for name in (*GRUS, *_SAME)) + 1
"""Of a GRU's name after the first one."""

_LONGEST_NAME = sum(max(map(len, names)) for names in (GRUS, _SAME))

_WORDS = re.compile("|".join(sorted({name.rpartition(".")[2] for name in GRUS})))
"""A file without any of them is not parsed."""

_BETWEEN = r"(?:[^\S\n]|\\\n)*"
_DOTTED = re.compile(rf"\w+(?:{_BETWEEN}\.{_BETWEEN}\w+)*")
_MOST_DOTS = 1000
"""In a name. Python's parser copies the name of an import once for each of its parts."""

_LARGEST = 4 << 20
"""Files of more bytes are passed over: they are data."""
_LEFT_OUT = {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"}


class Found(NamedTuple):
    """A GRU: where it is made, its full name, and the way to anygru.

    The file of a notebook ends with its cell, as "a.ipynb:cell 2", and the line is counted in that cell, as ruff does it.
    """

    file: str
    line: int
    name: str
    way: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file or folder of Python source or notebooks")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per GRU instead of a table, and unreadable files on standard error",
    )


def main(args: argparse.Namespace) -> int:
    """Print the findings."""
    files, found, by_words = 0, [], []
    unread: list[str] = []
    for path in sources(args.paths, unread):
        files += 1
        try:
            own, why = grus(path)
            found += own
            by_words += [f"{path}: {why}"] if why else []
        except (OSError, ValueError, AnygruError) as error:
            unread.append(str(error) if str(path) in str(error) else f"{path}: {error}")
    notes = [f"read word by word, since Python cannot parse it: {line}" for line in by_words]
    notes += [f"not read: {line}" for line in unread]
    if args.json:
        for each in found:
            print(json.dumps(each._asdict()))
        for note in notes:
            print(printable(note), file=sys.stderr)
        return 0
    out = console()
    for line in [f"{each.file}:{each.line}  {each.name}  {each.way}" for each in found] + notes:
        print(folded(printable(line), out.width))
    out.print(f"{count(len(found), 'GRU')} in {count(files, 'file')}")
    return 0


def sources(paths: list[str], unread: list[str]) -> Iterator[Path]:
    """The Python files and notebooks of some paths, in the order of their names, without hidden and installed files.

    Adds the folders that cannot be read to `unread`.
    """
    for given in paths:
        existing(given)
        if not os.path.isdir(given):
            yield Path(given)
            continue
        for folder, folders, names in os.walk(
            given, onerror=lambda error: unread.append(f"{error.filename}: {error.strerror}")
        ):
            folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                if path.suffix in (".py", ".ipynb"):
                    yield path


def grus(path: Path) -> tuple[list[Found], str]:
    """The GRUs that a file makes or names, and why Python cannot parse it, if so.

    Raises:
        ValueError: the file is too large, or not a text or notebook.
    """
    data = Gate(path).start(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError(f"more than {_LARGEST >> 20} MB")
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    cells = _cells(text) if path.suffix == ".ipynb" else {"": text}
    text = "\n".join(cells.values())  # one text, since a cell uses the imports of earlier cells
    why = ""
    if not _WORDS.search(text):
        return [], why
    places = [(f"{path}{cell}", line) for cell, code in cells.items() for line in range(1, code.count("\n") + 2)]
    try:
        if any(match[0].count(".") > _MOST_DOTS for match in _DOTTED.finditer(text)):
            raise ValueError(f"a name with more than {_MOST_DOTS} dots")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the source's own escapes and comparisons
            named = _names_by_syntax(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # Python 2, a template, or too deep for the parser.
        named = _names_by_text(text)
        line = getattr(error, "lineno", None)
        why = f"line {line}: {error.args[0]}" if line else str(error)
    return [Found(*places[line - 1], name, GRUS[name]) for line, name in named], why


def _cells(text: str) -> dict[str, str]:
    """The code of a notebook by its cell, ":cell 2"; cells of text are also counted. Lines for the shell become empty."""
    try:
        code = {
            f":cell {number}": "".join(cell["source"])
            for number, cell in enumerate(json.loads(text)["cells"], 1)
            if cell["cell_type"] == "code"
        }
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"no notebook: {error!r}") from None
    return {
        place: re.sub(r"^[^\S\n]*[%!].*$", "", "\n".join(cell.splitlines()), flags=re.M) for place, cell in code.items()
    }


def _names_by_syntax(tree: ast.AST) -> list[tuple[int, str]]:
    """Every call and other use of a GRU's name, resolved through the imports of the file."""
    known = _imported(tree)
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        name = _full_name(node, known)
        if name in GRUS and name.rpartition(".")[2] not in _MODES:
            found.append((getattr(node, "lineno", 1), name))
        elif isinstance(node, ast.Call) and (called := _full_name(node.func, known)) in GRUS and _has_the_mode(node):
            found.append((node.lineno, called))
        if not name:
            waiting += _uses(node)
    return sorted(found)


def _imported(tree: ast.AST) -> dict[str, str]:
    """The full names of a file's imports, by their names in the file."""
    known: dict[str, str] = {}
    by_star: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                known[alias.asname or first] = _short(alias.name) if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name != "*":
                    known[alias.asname or alias.name] = _short(f"{node.module}.{alias.name}")
                    continue
                start = f"{_SAME.get(node.module, node.module)}."
                names = {name.removeprefix(start).partition(".")[0] for name in GRUS if name.startswith(start)}
                by_star |= {name: start + name for name in names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            known.setdefault(node.name, node.name)  # the file's own name, which hides a name of a star import
    return by_star | known


def _short(name: str) -> str:
    """The name of an import; a longer one than any GRU's would be copied at each of its uses."""
    return name if len(name) <= _LONGEST_NAME else ""


def _uses(node: ast.AST) -> list[ast.AST]:
    """The parts of a node in which a class is used, and not only compared with or named as a type."""
    if isinstance(node, ast.Compare | ast.MatchClass):
        return _outermost_calls(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        return [*node.args[:1]]
    if isinstance(node, ast.AnnAssign):
        return [] if node.value is None else [node.value]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.decorator_list, node.args, *node.body]
    return [] if isinstance(node, ast.arg) else [*ast.iter_child_nodes(node)]


def _outermost_calls(node: ast.AST) -> list[ast.AST]:
    found, waiting = [], [*ast.iter_child_nodes(node)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call):
            found.append(part)
        else:
            waiting += ast.iter_child_nodes(part)
    return [*found]


def _has_the_mode(call: ast.Call) -> bool:
    values = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(isinstance(value, ast.Constant) and value.value == "gru" for value in values)


def _full_name(node: ast.AST, known: dict[str, str]) -> str:
    """The full name of an expression, such as "torch.nn.GRU"; empty if it is not a name."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if len(parts) > _MOST_PARTS:  # also keeps the time of a chain of attributes in proportion to its length
            return ""
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call) and (text := _looked_up(node)):
            parts.append(text)
            node = node.args[0]
        else:
            return ""
    module, _, name = ".".join([known.get(node.id, node.id), *reversed(parts)]).rpartition(".")
    return f"{_SAME.get(module, module)}.{name}"


def _looked_up(call: ast.Call) -> str:
    """The name in getattr(module, "name")."""
    if isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1:
        name = call.args[1]
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
    return ""


def _names_by_text(text: str) -> list[tuple[int, str]]:
    """The same for a file that does not parse: names followed by a parenthesis, if the file imports their framework."""
    imported = set(re.findall(r"^[^\S\n]*(?:import|from)[^\S\n]+(\w+)", text, re.MULTILINE))
    last = {name.rpartition(".")[2]: name for name in GRUS if name.partition(".")[0] in imported}
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        code = line.partition("#")[0]
        for match in re.finditer(r"[\w.]+", code):  # each letter is looked at once
            word = match[0].rpartition(".")[2]
            called = code.startswith("(", match.end()) and code[max(0, match.start() - 1)] not in "'\""
            if called and word in last and (word not in _MODES or "gru" in line):
                found.append((number, last[word]))
    return found
