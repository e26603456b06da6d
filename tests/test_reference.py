"""The pages of reference: every public name is in the API reference, every variable and exit status in its table."""

import ast
import re
from pathlib import Path

import anygru

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "anygru"
PAGES = [ROOT / "docs" / name for name in ("api.md", "api-modules.md")]
MODULES = (*anygru._MODULES, "onnx")


def defined(module: str) -> set[str]:
    """The public functions and classes that a module defines, and the names that it takes over as `X as X`."""
    path = PACKAGE / f"{module}.py" if (PACKAGE / f"{module}.py").exists() else PACKAGE / module / "__init__.py"
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
        for kind, name in re.findall(r"^\.\. auto(\w+):: anygru\.([\w.]+)$", page.read_text(), re.MULTILINE):
            found |= {f"{name}.{member}" for member in defined(name)} if kind == "module" else {name}
    return found


def test_every_public_name_is_in_the_api_reference() -> None:
    known = documented()
    assert {name for name in anygru.__all__ if name not in known and f"errors.{name}" not in known} == {"__version__", "functional"}
    for module in MODULES:
        at_the_top = {name for name in defined(module) if name in known and name in anygru.__all__}
        assert defined(module) - at_the_top - {name.removeprefix(f"{module}.") for name in known} == set(), module
