"""Type checkers and calls: `typed_program.py` has no error, and each line of `typed_mistakes.py` has an error."""

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import anygru

HERE = Path(__file__).parent
PROGRAM, MISTAKES = HERE / "typed_program.py", HERE / "typed_mistakes.py"

slow = pytest.mark.slow  # torch's own types take both of them half a minute
NAMES = [
    ("entries", "ActivationName", "anygru.facts.formula.ACTIVATIONS"),
    ("problem", "BackendName", "anygru.backends.NAMES"),
    ("quantization", "WeightFormat", "anygru.facts.quantization.DTYPES"),
]
pytestmark = [pytest.mark.skipif(sys.version_info < (3, 11), reason="assert_type is in typing since Python 3.11")]


def expected() -> list[int]:
    return [number for number, line in enumerate(MISTAKES.read_text().splitlines(), 1) if line.endswith("# mistake")]


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(anygru.functional.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(("module", "alias", "names"), NAMES)
def test_a_type_lists_all_names(module: str, alias: str, names: str) -> None:
    found = importlib.import_module(f"anygru.facts.{module}")
    home, _, name = names.rpartition(".")
    assert get_args(getattr(found, alias)) == tuple(getattr(importlib.import_module(home), name))


@slow
def test_mypy(tmp_path: Path) -> None:
    source = Path(anygru.functional.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(tmp_path)]
    found = subprocess.run(
        [*command, str(PROGRAM), str(MISTAKES)], capture_output=True, text=True, env={"MYPYPATH": str(source)}
    )
    lines = re.findall(r"^(?:.*/)?(\w+\.py):(\d+): error", found.stdout, re.MULTILINE)
    assert list(dict.fromkeys(lines)) == [(MISTAKES.name, str(number)) for number in expected()], (
        found.stdout + found.stderr
    )


@slow
def test_pyright(tmp_path: Path) -> None:
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed")
    source = Path(anygru.functional.__file__).parents[1]
    project = {"include": [str(PROGRAM), str(MISTAKES)], "extraPaths": [str(source)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(project))
    command = [
        sys.executable,
        "-m",
        "basedpyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "-p",
        str(tmp_path),
    ]
    found = subprocess.run(command, capture_output=True, text=True)
    errors = [one for one in json.loads(found.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    lines = [(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in errors]
    assert sorted(set(lines)) == [(MISTAKES.name, number) for number in expected()], found.stdout
