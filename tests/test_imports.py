"""`import anygru` loads no other package, its layers load torch and NumPy only; imports keep to the contracts."""

import ast
import graphlib
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
    # Python's module for sub-interpreters.
    assert {name.partition(".")[0] for name in loaded} - {"_interpreters", "_xxsubinterpreters"} == {"anygru"}
    assert not [
        name for name in loaded if name.split(".")[1:2] in (["cli"], ["dialects"], ["checkpoints"], ["parallel"])
    ]


def stub(name: str) -> dict[str, str]:
    """The imports of a stub: name -> "module:name", or "module" for a module."""
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
    """Sibling modules that a stub imports in the relative form: editors offer their names as well."""
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom) and node.level]
    return {node.module for node in found if node.module and "." not in node.module}


def test_editors_offer_public_names_only() -> None:
    assert relative(SOURCE / "__init__.pyi") <= {*anygru._MODULES}
    assert not relative(SOURCE / "onnx" / "__init__.py")


@pytest.mark.parametrize("name", ["dialects", "functional", "onnx", "parallel"])
def test_public_modules_complete_to_their_names_only(name: str) -> None:
    """A shell completes by dir(): re-exported names, and public names that the module defines."""
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


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of import-linter in the configuration of a folder."""
    pytest.importorskip("importlinter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_contracts_of_imports_are_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("", ""),
        ("from ..facts import more", ""),
        ("def f():\n    from ..cli import more", "toy.backends is not allowed to import toy.cli"),
        ("from .. import checkpoints", "toy.backends is not allowed to import toy.checkpoints"),
        ("from . import more", "No cycles are allowed in toy.backends"),
    ],
)
def test_a_broken_contract_of_imports_is_seen(tmp_path: Path, line: str, broken: str) -> None:
    """The contracts of the core, of a small package with the same folders."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 cannot read TOML")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers, cycles = contracts
    for name in re.findall(r"\w+", " ".join(layers["layers"])):
        (tmp_path / "toy" / name).mkdir(parents=True)
        (tmp_path / "toy" / name / "__init__.py").touch()
        (tmp_path / "toy" / name / "more.py").write_text("from . import changed")
        (tmp_path / "toy" / name / "changed.py").touch()
    (tmp_path / "toy" / "__init__.py").touch()
    (tmp_path / "toy" / "backends" / "changed.py").write_text(line)
    (tmp_path / ".importlinter").write_text(
        "[importlinter]\nroot_package = toy\n"
        "[importlinter:contract:layers]\nname = layers\ntype = layers\ncontainers = toy\nlayers =\n    "
        + "\n    ".join(layers["layers"])
        + f"\n[importlinter:contract:cycles]\nname = cycles\ntype = {cycles['type']}\nancestors = toy\n"
    )
    done = lint(tmp_path)
    assert (done.returncode == 0) == (not broken), done.stdout
    assert broken in done.stdout


def test_the_core_does_not_import_its_own_face() -> None:
    """`from .. import GRU` would load a lazy name in a cycle; the commands use the public names."""
    found = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if "" in imports(path, SOURCE)]
    assert [name for name in found if not name.startswith("cli/")] == ["dialects/suite.py"]


def edges(package: Path) -> dict[str, set[str]]:
    """The modules of a package, each with the others that it imports."""
    found = {module_name(path, package): imports(path, package) for path in package.rglob("*.py")}
    return {module: others & found.keys() - {module} for module, others in found.items()}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_files_import_in_a_circle(package: Path) -> None:
    graphlib.TopologicalSorter(edges(package)).prepare()


@pytest.mark.parametrize(
    "late", ["from . import a", "def f():\n    from .a import x"], ids=["at import", "in a function"]
)
def test_a_circle_would_be_seen(tmp_path: Path, late: str) -> None:
    files = {"__init__": "", "a": "from . import b", "b": "from .c import y", "c": late, "d": "from .a import x"}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(graphlib.CycleError) as error:
        graphlib.TopologicalSorter(edges(tmp_path)).prepare()
    assert set(error.value.args[1]) == {"a", "b", "c"}
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import a"
    (tmp_path / "c.py").write_text(for_types)
    graphlib.TopologicalSorter(edges(tmp_path)).prepare()


def test_version_is_the_installed_one() -> None:
    assert importlib.metadata.version("anygru") == anygru.__version__
