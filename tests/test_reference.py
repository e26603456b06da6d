"""The pages of reference: every public name is in the API reference, every variable and exit status in its table."""

import ast
import re
from pathlib import Path

import pytest

import anygru
from anygru.checkpoints import format_module
from anygru.cli import commands, main

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "packages/anygru/src/anygru"
PAGES = [ROOT / "docs" / name for name in ("api.md", "api-modules.md")]
MODULES = (*anygru._MODULES, "onnx")


def defined(module: str) -> set[str]:
    """The public functions and classes that a module defines, and the names that it takes over as `X as X`."""
    place = PACKAGE / anygru._MODULES.get(module, module).replace(".", "/")
    path = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names if alias.asname == alias.name}
    return {name for name in found if not name.startswith("_")}


def documented() -> set[str]:
    """The full names that the pages document, by themselves or as members of their module."""
    found = set()
    for page in PAGES:
        for kind, name in re.findall(r"^\.\. (?:py:|auto)(\w+):: anygru\.([\w.]+)$", page.read_text(), re.MULTILINE):
            found |= {f"{name}.{member}" for member in defined(name)} if kind == "module" else {name}
    return found


def test_every_public_name_is_in_the_api_reference() -> None:
    known = documented()
    assert {name for name in anygru.__all__ if name not in known and f"errors.{name}" not in known} == {
        "__version__",
        "functional",
    }
    for module in MODULES:
        at_the_top = {name for name in defined(module) if name in known and name in anygru.__all__}
        assert defined(module) - at_the_top - {name.removeprefix(f"{module}.") for name in known} == set(), module


def test_every_variable_is_in_the_table() -> None:
    sources = [
        *PACKAGE.rglob("*.py"),
        ROOT / "packages/anygru/csrc/dispatch.cpp",
        ROOT / "packages/anygru/tests/backends/test_agreement.py",
    ]
    read = {name for path in sources for name in re.findall(r'"(ANYGRU_[A-Z_]+)"', path.read_text())}
    listed = set(re.findall(r"^\| `(ANYGRU_\w+)` \|", (ROOT / "docs/reference.md").read_text(), re.MULTILINE))
    assert read == listed


def test_only_listed_c_sources_read_variables() -> None:
    """An assumption of the test above."""
    sources = {
        path.name
        for path in (PACKAGE.parents[1] / "csrc").iterdir()
        if path.suffix in (".cpp", ".hpp") and "getenv" in path.read_text()
    }
    assert sources == {"dispatch.cpp", "threads.cpp"}
    assert set(re.findall(r'getenv\("(\w+)"\)', (PACKAGE.parents[1] / "csrc/threads.cpp").read_text())) == {
        "GOMP_SPINCOUNT",
        "OMP_WAIT_POLICY",
    }, "OpenMP's own, which its documentation has"


@pytest.mark.parametrize("command", [name for name in commands() if name != "launch"])  # its help is torchrun's
def test_help_is_complete_in_itself(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "see doc" not in text
    assert f"## anygru {command}\n" in (ROOT / "docs/reference.md").read_text()
    for format_name in ("mxnet", "paddle") if command == "convert" else ():
        assert all(repr(layout.name) in text for layout in format_module(format_name).LAYOUT)
