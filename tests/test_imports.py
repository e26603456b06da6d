"""`import anygru` loads nothing, its layers load torch and NumPy and nothing else; imports point down only, and in no circle."""

from __future__ import annotations

import ast
import fnmatch
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import anygru

SOURCE = Path(anygru.functional.__file__).parent

# Each group may import itself and what stands to its right.
ORDER = ("cli", "dialects", "parallel",
         "onnx", "checkpoints", "freezing", "acceleration", "keras_layers rerouting explanation", "layers", "frozen_layers",
         "recurrent rnn_names frozen streaming",
         "functional typed_calls", "execution", "tracing_frozen", "tracing",
         "decays sequences frozen_weights", "backends", "weights",
         "gates formula modifiers quantization errors _native compiling acceleration_hook")  # fmt: skip
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names.split()}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_loads_nothing_until_a_name_is_used() -> None:
    assert run("import anygru, sys; print('torch' in sys.modules, 'numpy' in sys.modules)").split() == [
        "False",
        "False",
    ]


def test_the_layers_load_torch_and_numpy_only() -> None:
    code = "import torch, numpy, sys; before = set(sys.modules); import anygru; anygru.GRU, anygru.accelerate, anygru.explain; "
    loaded = ast.literal_eval(run(code + "print(sorted(set(sys.modules) - before))"))
    assert {name.partition(".")[0] for name in loaded} == {"anygru"}
    assert not [
        name for name in loaded if name.split(".")[1:2] in (["cli"], ["dialects"], ["checkpoints"], ["parallel"])
    ]


def test_every_public_name_is_there() -> None:
    for name in anygru.__all__:
        assert getattr(anygru, name) is not None
        assert name in dir(anygru)
    assert not set(anygru._HOME) & {path.stem for path in SOURCE.iterdir()}, "a module would hide a function"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        anygru.nothing  # noqa: B018


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(path: Path, root: Path = SOURCE) -> set[str]:
    """The modules below `root` that a file imports, inside functions too and for types alone not, as dotted names below it.

    A package stands for its `__init__.py`, and only where it is named itself: `from . import x` names x if x is a module.
    """
    package = path.relative_to(root).with_suffix("").parts[:-1]
    found, nodes = set(), [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        nodes += node.orelse if is_for_types(node) else ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[2] for alias in node.names if alias.name.partition(".")[0] == root.name}
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else (node.module or "").split(".")
            if not node.level:
                if base.pop(0) != root.name:
                    continue
            elif node.module:
                base += node.module.split(".")
            for alias in node.names:
                inner = [*base, alias.name]
                found.add(".".join(inner if is_module(root, inner) else base))
    return found


def is_module(root: Path, parts: list[str]) -> bool:
    path = root.joinpath(*parts)
    return any(file.is_file() for file in (path.with_suffix(".py"), path.with_suffix(".pyi"), path / "__init__.py"))


def module_name(path: Path, root: Path = SOURCE) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(SOURCE).with_suffix("").parts
    if own[0] in ("__init__", "__main__"):
        return
    for name in imports(path):
        assert name or own[0] == "cli", f"{'.'.join(own)} imports the package's face"
        parts = name.split(".")
        assert not name or parts[0] in LEVEL, f"{own} imports anygru.{name}"
        assert not name or LEVEL[parts[0]] >= LEVEL[own[0]], f"{'.'.join(own)} imports upwards: anygru.{name}"
        if own[0] == parts[0] == "dialects" and len(own) > 2 and len(parts) > 1:
            assert own[1] == parts[1] or parts[1].startswith("_"), (
                f"{'.'.join(own)} imports another dialect: anygru.{name}"
            )


def test_importing_upwards_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = SOURCE / "gates.py"
    monkeypatch.setattr(Path, "read_text", lambda self: "from .cli import main\nfrom . import dialects")
    with pytest.raises(AssertionError, match="imports upwards"):
        test_imports_point_down(bad)


def circles(root: Path) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others (Tarjan's strongly connected components)."""
    edges = {module_name(path, root): imports(path, root) for path in root.rglob("*.py")}
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in edges[module] & edges.keys() - {module}:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == number[module]:
            start = stack.index(module)
            group = stack[start:]
            del stack[start:]
            if len(group) > 1:
                found.append(sorted(group))

    for module in edges:
        if module not in number:
            visit(module)
    return found


def test_no_files_import_in_a_circle() -> None:
    assert circles(SOURCE) == []


@pytest.mark.parametrize(
    "late", ["from . import a", "def f():\n    from .a import x"], ids=["at import", "in a function"]
)
def test_a_circle_would_be_seen(tmp_path: Path, late: str) -> None:
    files = {"__init__": "", "a": "from . import b", "b": "from .c import y", "c": late, "d": "from .a import x"}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert circles(tmp_path) == [["a", "b", "c"]]
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import a"
    (tmp_path / "c.py").write_text(for_types)
    assert circles(tmp_path) == []


FLOORS = ("words", "operators", "arrays", "training", "layers", "files", "face")
DIALECTS = {path.parent.name: path for path in sorted(Path(__file__).parent.glob("dialects/*/floors.txt"))}


def floor_of(file: str, plan: dict[str, list[str]]) -> int:
    """The floor of a file of a dialect: that of the most specific pattern that matches it."""
    fitting = [
        (p == file, len(p), floor) for floor, patterns in plan.items() for p in patterns if fnmatch.fnmatch(file, p)
    ]
    assert fitting, f"{file} is on no floor"
    return FLOORS.index(max(fitting)[2])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_keeps_its_floors(dialect: str) -> None:
    lines = (line.partition(":") for line in DIALECTS[dialect].read_text().splitlines() if line)
    plan = {floor: patterns.split() for floor, _, patterns in lines}
    assert tuple(plan) == FLOORS
    root = SOURCE / "dialects" / dialect
    names = {module_name(path): path.relative_to(root).as_posix() for path in root.rglob("*.py")}
    upwards = [
        f"{file} imports {names[other]}"
        for module, file in names.items()
        for other in imports(SOURCE / "dialects" / dialect / file) & names.keys() - {module}
        if floor_of(names[other], plan) > floor_of(file, plan)
    ]
    assert upwards == []


def test_version_is_the_installed_one() -> None:
    assert importlib.metadata.version("anygru") == anygru.__version__
