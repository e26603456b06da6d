"""Bounds on the length of functions and files, on untyped arguments, and on the folders of the core."""

import ast
import importlib.util
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from unittest.mock import patch

import pytest
import torch

import anygru
from anygru.backends import cpu_calls

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "packages"
CORE = SOURCE / "anygru/src/anygru"
DIALECTS = ("chainer", "mxnet", "oneflow", "paddle")
ARGUMENTS = ROOT / "tests/data/arguments.json"
"""The arguments of the originals' functions, written by `record_arguments.py`."""
FILES = sorted(SOURCE.glob("*/src/**/*.py"))
ANY = {"anygru": 0.05, "anygru-lab": 0.05, "anygru-(chainer|mxnet|oneflow|paddle)": 0.15}
"""Packages, and the most of their annotated arguments that may be bare `Any`."""


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring."""
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines -= first.end_lineno - first.lineno + 1
    return lines


def test_functions_fit_a_screen() -> None:
    found = {f"{p.relative_to(SOURCE)}:{f.name}": length(f) for p in FILES for f in functions(p) if length(f) > 58}
    assert found == {}


def test_files_have_one_subject() -> None:
    lines = {path.relative_to(SOURCE).as_posix(): path.read_text().count("\n") for path in FILES}
    assert {name: count for name, count in lines.items() if count > 400} == {}


@pytest.mark.parametrize("part", ANY)
def test_arguments_have_types(part: str) -> None:
    """The share of annotated arguments with the type `Any`."""
    bare = total = 0
    for path in FILES:
        if not re.fullmatch(part, path.relative_to(SOURCE).parts[0]):
            continue
        for function in functions(path):
            given = function.args
            annotations = [a.annotation for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.annotation]
            total += len(annotations)
            bare += sum(isinstance(a, ast.Name) and a.id in ("Any", "_Any") for a in annotations)
    assert bare <= ANY[part] * total, f"{bare} of {total} annotated arguments are bare Any"


def test_annotations_are_written_one_way() -> None:
    """Forward references are quoted; no file needs `from __future__ import annotations`."""
    files = [*FILES, *SOURCE.glob("*/tests/**/*.py")]
    assert [path.name for path in files if "from __future__ import annotations" in path.read_text()] == []


@cache
def house() -> ModuleType:
    """The script that draws the folders of the core."""
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs/house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_core_has_few_folders_and_arrows() -> None:
    files = [path for path in CORE.glob("*.py") if path.stem not in ("__init__", "__main__")]
    assert len(files) <= 4
    assert len(house().parts()) <= 15
    assert len(house().arrows()) <= 45


def test_the_picture_shows_the_imports() -> None:
    assert (ROOT / "docs/images/house.svg").read_text() == house().draw(house().arrows()), "run docs/house.py"


def test_no_two_files_of_the_core_define_the_same_class() -> None:
    nodes = (node for path in CORE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and node.name[0] != "_")
    assert [name for name, count in names.items() if count > 1] == []


def frames_to(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of the core up the call stack, until a caller is neither the core nor torch."""
    folders = {str(CORE): True, str(Path(torch.__file__).parent): False}
    while frame is not None:
        found = [own for folder, own in folders.items() if frame.f_code.co_filename.startswith(folder)]
        if not found:
            return
        if found[0]:
            yield frame
        frame = frame.f_back


def classes_of(value: object) -> Iterator[str]:
    """The names of the core's classes that a value has, or that it holds if it is a tuple."""
    if type(value).__module__.partition(".")[0] == "anygru":
        yield type(value).__name__
    if isinstance(value, tuple):
        for each in value:
            yield from classes_of(each)


def words(call: Callable[[], object]) -> list[str]:
    """Words that a reader learns between a layer and the kernel on the CPU that its call reaches.

    These are the names of the functions that wait for the kernel, and of the classes of their variables. A name counts once:
    `run` of a backend has the same contract as the `run` that called it. Functions that returned before the kernel
    began are not on the way.
    """
    native, found = cpu_calls.native, set[str]()

    class Kernels:
        def __getattr__(self, name: str) -> object:
            found.clear()  # the last one computes; the earlier ones created objects for it
            frames = list(frames_to(sys._getframe(1)))
            for frame in frames[:-1]:
                code = frame.f_code
                found.update(getattr(code, "co_qualname", code.co_name).split("."))  # since Python 3.11 with its class
            for frame in frames:
                found.update(name for value in frame.f_locals.values() for name in classes_of(value))
            return getattr(native, name)

    with patch.object(cpu_calls, "native", Kernels()):
        call()
    return sorted(found - {"GRU"})


def words_of_paths() -> dict[str, list[str]]:
    """The words of a plain call and of a call with lengths and resets, both while training."""
    layer, input = anygru.GRU(4, 8), torch.randn(3, 2, 4)
    lengths, resets = torch.tensor([3, 2]), torch.zeros(3, 2, dtype=torch.bool)
    return {
        "fast path": words(lambda: layer(input)),
        "general path": words(lambda: layer(input, lengths=lengths, resets=resets)),
    }


def test_the_way_to_the_kernel_has_few_words() -> None:
    found = words_of_paths()
    assert {"run", "Options"} <= set(found["fast path"]) & set(found["general path"])
    assert len(found["fast path"]) <= 9, found
    assert len(found["general path"]) <= 14, found


def argument_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The arguments that a caller can give by name or position."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [each.arg for each in given if each.arg not in ("self", "cls")]


def named(node: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions with their public names in a dialect: `Class.method`, or the name of the operator that it registers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = [each for each in child.decorator_list if isinstance(each, ast.Call)]
            registered = [ast.literal_eval(each.args[0]) for each in calls if ast.unparse(each.func) == "operator"]
            yield (registered or [owner + child.name])[0], child
            yield from named(child, f"{owner}{child.name}.")
        else:
            yield from named(child, f"{child.name}." if isinstance(child, ast.ClassDef) else owner)


def long_functions(dialect: str, most: int = 8) -> Iterator[tuple[str, list[str]]]:
    """Functions of a dialect with more arguments than `most`, and the arguments' names."""
    for path in sorted((ROOT / f"packages/anygru-{dialect}/src").rglob("*.py")):
        for name, function in named(ast.parse(path.read_text())):
            names = argument_names(function)
            if len(names) > most:
                yield name, names


def not_asked(dialect: str) -> list[str]:
    """The long functions with other arguments than a public function of the original.

    The record is `tests/data/arguments.json`. Functions with a private name count, and functions of releases that are not
    in the record.
    """
    recorded = json.loads(ARGUMENTS.read_text())[dialect]

    def asked(name: str, ours: list[str]) -> bool:
        public = not name.startswith("_")
        return public and any([each for each in theirs if each in ours] == ours for theirs in recorded.get(name, ()))

    return [name for name, ours in long_functions(dialect) if not asked(name, ours)]


def print_long(dialect: str) -> None:
    """Print the names that `record_arguments.py` reads."""
    print(*(name for name, _ in long_functions(dialect)), sep="\n")


def test_few_functions_of_dialects_have_many_arguments() -> None:
    """Functions that do not have the original's arguments under its names; ruff bounds the arguments in other packages."""
    found = {dialect: not_asked(dialect) for dialect in DIALECTS}
    assert sum(map(len, found.values())) <= 24, found
