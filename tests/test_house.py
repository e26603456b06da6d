"""The house stays readable: no function is longer than a screen, no file longer than its subject, no argument is bare `Any`."""

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "packages"
FILES = sorted(SOURCE.glob("*/src/**/*.py"))
# Files that are one table may be long.
TABLES: set[str] = set()
ANY = {"anygru": 0.05, "anygru-lab": 0.05, "anygru-(chainer|mxnet|oneflow|paddle)": 0.15}
"""Packages, and the most of their annotated arguments that may be bare `Any`."""


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, the docstring left out."""
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
    assert {name: count for name, count in lines.items() if count > 400 and name not in TABLES} == {}
    assert {name for name in TABLES if lines.get(name, 0) <= 400} == set(), "no longer long"


@pytest.mark.parametrize("part", ANY)
def test_arguments_have_types(part: str) -> None:
    """Of the annotated arguments, the share whose type is nothing but `Any`."""
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
    assert [path.name for path in FILES if "from __future__" in path.read_text()] == []


def house() -> ModuleType:
    """The script that counts and draws."""
    spec = importlib.util.spec_from_file_location("house", SOURCE.parent / "docs/house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CORE = [path for path in FILES if path.relative_to(SOURCE).parts[:3] == ("anygru", "src", "anygru")]
ROOMS = ("facts", "backends", "operator", "layers", "patching")
"""The core without checkpoints, ONNX, commands and processes."""
OTHERS = re.compile(r"triton|cudnn|keras")
"""Languages and frameworks of others: their kernels take what Triton passes, their layers have their own names."""
SESSIONS = ("memory.py", "machine.py", "stepper.py", "sessions.py")
"""Models stepped for many sessions: a subject of its own in `layers`."""


def test_the_core_has_few_classes() -> None:
    own = [path for path in CORE if path.parent.name in (*ROOMS, "anygru") and not OTHERS.match(path.name)]
    own = [path for path in own if path.name not in SESSIONS]
    classes = [
        node.name for path in own for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)
    ]
    assert len(classes) <= 45, sorted(classes)
    assert len(set(classes)) == len(classes)


def test_few_functions_have_many_arguments() -> None:
    """Only what users call as torch names it has many; a `Call` and `Options` carry them further."""
    found = [each for each in house().with_many_arguments() if not OTHERS.match(Path(each.partition(":")[0]).name)]
    layers = ["cell.py", "cell.py", "frozen_calls.py", "gru.py"]
    assert found == ["functional.py:gru", "functional.py:gru_cell", *(f"layers/{file}:__init__" for file in layers)]


def test_the_way_to_the_kernel_has_few_words() -> None:
    found = house().words_of_paths()
    assert {"run", "Options"} <= set(found["fast path"]) & set(found["general path"])
    assert len(found["fast path"]) <= 9, found
    assert len(found["general path"]) <= 14, found


def test_few_functions_of_dialects_have_many_arguments() -> None:
    """Beside those that the original has, under its name and in its order: helpers, and functions of older releases."""
    found = {dialect: house().not_asked(dialect) for dialect in house().DIALECTS}
    assert sum(map(len, found.values())) <= 24, found


@pytest.mark.parametrize(("dialect", "least"), [("chainer", 4.8), ("mxnet", 7.5), ("oneflow", 13), ("paddle", 7.8)])
def test_dialects_say_whose_a_quirk_is(dialect: str, least: float) -> None:
    """A line that differs from torch for the original's sake says so, with the version and how it is known."""
    assert house().comments(dialect) >= least


def test_the_house_keeps_its_size() -> None:
    """What `python docs/house.py` counts and draws."""
    drawn, counts = house(), house().counts()
    assert counts["modules right in the package"] <= 4
    assert counts["rooms"] <= 15
    assert counts["arrows"] <= 50
    assert counts["kernels in Triton of more than 8 arguments"] <= 14
    assert drawn.twins() == []
    assert (SOURCE.parent / "docs/images/house.svg").read_text() == drawn.draw(drawn.arrows()), "run docs/house.py"
