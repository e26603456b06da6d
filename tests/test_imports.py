"""`import anygru` loads torch and NumPy and nothing else, and imports point down only."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import anygru

SOURCE = Path(anygru.functional.__file__).parent

# Each group may import itself and what stands to its right.
ORDER = ("cli", "dialects", "parallel", "checkpoints", "acceleration rerouting explanation", "layers streaming", "functional",
         "sequences tracing", "backends", "gates formula errors _native")  # fmt: skip
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


def imports(path: Path) -> set[str]:
    """The anygru modules that a file imports, as dotted names below anygru."""
    package = path.relative_to(SOURCE.parent).with_suffix("").parts
    package = package if path.name == "__init__.py" and package[-1] != "__init__" else package[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += (node.module or "").split(".") if node.module else []
            found |= {".".join([*base, alias.name]) for alias in node.names}
    return {name.partition("anygru.")[2] for name in found if name.startswith("anygru.")}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(SOURCE).with_suffix("").parts
    if own[0] in ("__init__", "__main__"):
        return
    for name in imports(path):
        parts = name.split(".")
        if parts[0] not in LEVEL:
            assert parts[0] in anygru.__all__, f"{own} imports anygru.{name}"
            continue
        assert LEVEL[parts[0]] >= LEVEL[own[0]], f"{'.'.join(own)} imports upwards: anygru.{name}"
        if own[0] == parts[0] == "dialects" and len(own) > 2 and len(parts) > 2:
            assert own[1] == parts[1] or parts[1].startswith("_"), (
                f"{'.'.join(own)} imports another dialect: anygru.{name}"
            )


def test_importing_upwards_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = SOURCE / "gates.py"
    monkeypatch.setattr(Path, "read_text", lambda self: "from .cli import main\nfrom . import dialects")
    with pytest.raises(AssertionError, match="imports upwards"):
        test_imports_point_down(bad)


def test_version_is_the_installed_one() -> None:
    assert importlib.metadata.version("anygru") == anygru.__version__
