"""Find the programs, expected outputs and command lines in the Markdown pages of the repository.

- The Python blocks of a page are one program, as a reader would paste them one after another.
- A block under a line such as "**Paddle**: `anygru run before.py`" is a separate program, with that name and runner.
- A comment at the end of a `print(...)` is its output; a comment that begins with "[" at the end of an assignment is the
  shape of the value. "..." in them matches any text.
- Every line of an `sh` block is a command; a "#" begins its comment.
- A `console` block has commands after "$ " and their output below.
"""

import ast
import io
import os
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


def files(folder: Path, *suffixes: str) -> list[Path]:
    """The files below a folder (or the file itself), all or only with a suffix, without hidden folders and builds."""
    if folder.is_file():
        return [folder]
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [
            each for each in folders if each[0] != "." and each not in ("build", "node_modules", "__pycache__")
        ]
        found += [Path(place, name) for name in names if not suffixes or name.endswith(suffixes)]
    return sorted(found)


PAGES = [page for page in files(ROOT, ".md") if "conformance" not in page.parts and "{include}" not in page.read_text()]


def name_of(page: Path) -> str:
    """The name of a page: "run.md", "anygru-mxnet" for the first page of a package."""
    return page.parent.name if page.parent.parent.name == "packages" else page.name


_DIALECT = re.compile(r"^\s*(?:import|from) (?:paddle|oneflow|mxnet|chainer)\b", re.MULTILINE)
_BLOCK = re.compile(
    r"(?:^\*\*[^*\n]+\*\*: `([^`\n]+)`\n\n)?^```(python|sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
_MARK = "\x00"


class Program(NamedTuple):
    name: str
    text: str
    line: str
    """The command that runs it, such as "anygru run before.py"."""

    @property
    def of_a_dialect(self) -> bool:
        return _DIALECT.search(self.text) is not None


class Command(NamedTuple):
    line: str
    output: str | None
    """The expected output; None if the page does not show it."""


def contents(page: Path) -> list[Program | Command]:
    """The program of a page, and then its programs with names and its commands, in the order of the page."""
    unnamed, found = [], []
    for line, language, text in _BLOCK.findall(page.read_text()):
        if language != "python":
            found += _commands(language, text)
        elif line:
            found.append(Program(line.split()[-1], text, line))
        else:
            unnamed.append(text)
    return [Program("blocks.py", "\n".join(unnamed), "")] * bool(unnamed) + found


def _commands(language: str, block: str) -> list[Command]:
    block = block.replace("\\\n", " ")
    if language == "sh":
        return [Command(line.partition(" #")[0].strip(), None) for line in block.splitlines() if line.strip()]
    parts = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [Command(line.strip(), output) for line, _, output in parts]


def checking(program: str) -> tuple[str, list[str]]:
    """A program that marks the outputs described by its comments, and these comments, indexed by the marks."""
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(program).readline)
        if token.type == tokenize.COMMENT and program.splitlines()[token.start[0] - 1].lstrip()[0] != "#"
    }
    lines, promises = program.splitlines(), []
    for node in ast.walk(ast.parse(program)):
        comment = comments.get(getattr(node, "end_lineno", 0))
        if comment is None:
            continue
        begin, end = f"print({_MARK + str(len(promises))!r})", f"print({_MARK!r})"
        first, last = node.lineno - 1, node.end_lineno - 1
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "print":
            lines[last] = f"{lines[last].partition('  #')[0]}; {end}"
            lines[first] = f"{lines[first][: node.col_offset]}{begin}; {lines[first].lstrip()}"
        elif isinstance(node, ast.Assign) and comment.startswith("["):
            shape = f"{begin}; print(list({ast.unparse(node.targets[0])}.shape)); {end}"
            lines[last] = f"{lines[last].partition('  #')[0]}; {shape}"
        else:
            continue
        promises.append(comment)
    return "\n".join(lines) + "\n", promises


def difference(promises: list[str], output: str) -> str | None:
    """The first difference between the promises of a program and the output of its lines, or None."""
    printed = re.findall(rf"{_MARK}(\d+)\n(.*?){_MARK}\n", output, re.DOTALL)
    missing = set(range(len(promises))) - {int(number) for number, _ in printed}
    if missing:
        return f"never came to {[promises[number] for number in sorted(missing)]}"
    for number, text in printed:
        if not matches(promises[int(number)], text):
            return f"printed {' '.join(text.split())!r}, the page says {promises[int(number)]!r}"
    return None


def matches(promise: str, text: str) -> bool:
    """Whether a text equals the promise, ignoring the number of spaces; "..." matches any text."""
    parts = [re.escape(" ".join(part.split())) for part in promise.split("...")]
    return re.fullmatch(r"\s*.*?\s*".join(parts), " ".join(text.split())) is not None
