"""`import anygru` loads nothing, its layers load torch and NumPy and nothing else; imports point down only, and in no circle."""

import ast
import importlib
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import anygru
import anygru.extend
from anygru.dialects.suite import imports, is_module, module_name

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "packages/anygru/src/anygru"
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/src/*/__init__.py"))

# Each group may import itself and the groups to its right.
ORDER = ("extend", "cli", "c_export dialects onnx checkpoints", "patching parallel", "layers", "functional",
         "operator", "backends", "facts", "errors _native")  # fmt: skip
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
    # Python's own module that tells whether this is a sub-interpreter.
    assert {name.partition(".")[0] for name in loaded} - {"_interpreters", "_xxsubinterpreters"} == {"anygru"}
    assert not [
        name for name in loaded if name.split(".")[1:2] in (["cli"], ["dialects"], ["checkpoints"], ["parallel"])
    ]


def stub(name: str) -> dict[str, str]:
    """What a stub imports: name -> "module:name", or "module" for a module."""
    found = {}
    for node in ast.parse((SOURCE / f"{name}.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                parts = [*filter(None, (node.module or "").removeprefix("anygru.").split(".")), alias.name]
                inside = is_module(SOURCE, parts)
                home = ".".join(parts) if inside else f"{'.'.join(parts[:-1])}:{alias.name}"
                found[alias.asname or alias.name] = home
    return found


@pytest.mark.parametrize("name", ["__init__", "extend"])
def test_the_stubs_have_the_lazy_names(name: str) -> None:
    module = {"__init__": anygru, "extend": anygru.extend}[name]
    lazy = dict(module._HOME) | getattr(module, "_MODULES", {})
    assert set(stub(name)) == set(lazy)
    for lazy_name, home in stub(name).items():
        path, _, inside = home.partition(":")
        value = importlib.import_module(f"anygru.{path}")
        assert (getattr(value, inside) if inside else value) is getattr(module, lazy_name)


def relative(path: Path) -> set[str]:
    """The modules right beside a face that it imports from in the relative form. Editors offer their names, too."""
    froms = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom) and node.level]
    return {node.module for node in froms if node.module and "." not in node.module}


def test_editors_offer_public_names_only() -> None:
    assert relative(SOURCE / "__init__.pyi") <= {*anygru._MODULES}
    assert not relative(SOURCE / "onnx" / "__init__.py")


@pytest.mark.parametrize("name", ["dialects", "functional", "onnx", "parallel"])
def test_public_modules_complete_to_their_names_only(name: str) -> None:
    """A shell completes by dir(): all that the face gives on, and beside that only what it defines."""
    module = getattr(anygru, name)
    given_on = set(re.findall(r"^from \S+ import (\w+) as \1$", Path(module.__file__).read_text(), re.MULTILINE))
    own = {one for one, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    assert given_on <= set(dir(module)) <= given_on | {one for one in own if not one.startswith("_")}


def test_every_public_name_is_there() -> None:
    for name in anygru.__all__:
        assert getattr(anygru, name) is not None
    assert set(dir(anygru)) == {*anygru.__all__, "dialects", "onnx", "parallel"}
    assert not set(anygru._HOME) & {path.stem for path in SOURCE.iterdir()}, "a module would hide a function"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        anygru.nothing  # noqa: B018


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(SOURCE).with_suffix("").parts
    if own[0] in ("__init__", "__main__") or own == ("dialects", "suite"):
        return
    for name in imports(path, SOURCE):
        assert name or own[0] == "cli", f"{'.'.join(own)} imports the package's face"
        parts = name.split(".")
        assert not name or parts[0] in LEVEL, f"{own} imports anygru.{name}"
        assert not name or LEVEL[parts[0]] >= LEVEL[own[0]], f"{'.'.join(own)} imports upwards: anygru.{name}"


def test_importing_upwards_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = SOURCE / "facts" / "gates.py"
    monkeypatch.setattr(
        Path, "read_text", lambda self, encoding=None: "from ..cli import main\nfrom .. import dialects"
    )
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


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_files_import_in_a_circle(package: Path) -> None:
    assert circles(package) == []


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


def test_version_is_the_installed_one() -> None:
    assert importlib.metadata.version("anygru") == anygru.__version__
