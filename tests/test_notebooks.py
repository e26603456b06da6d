"""The notebooks in `examples/` have outputs and pictures; the slow test runs them and compares the outputs."""

import ast
import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
LIBRARIES = {"forecasting_libraries": ("darts", "neuralforecast", "sktime", "pytorch_forecasting")}
"""Imports of the notebooks that `make` does not install."""
TOOLS = {"denoisers": ("cc", "clang", "wasm-ld", "node"), "guitar_amplifier": ("cc",)}


def code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(notebook: dict[str, Any]) -> str:
    """The output of the cells without numbers, which differ between machines."""
    texts = [
        "".join(output["text"])
        for cell in code(notebook)
        for output in cell["outputs"]
        if output["output_type"] == "stream"
    ]
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.]*", "#", "".join(texts)))


def pictures(notebook: dict[str, Any]) -> int:
    return sum("image/png" in output.get("data", {}) for cell in code(notebook) for output in cell["outputs"])


def test_each_has_a_page() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "notebooks").glob("*.md")}
    assert NOTEBOOKS
    assert {path.stem for path in NOTEBOOKS} == pages


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_whole(path: Path) -> None:
    notebook = json.loads(path.read_text())
    for cell in code(notebook):
        ast.parse("".join(cell["source"]))  # plain Python, no magics
        assert cell["execution_count"] is not None
        assert all(output["output_type"] != "error" for output in cell["outputs"])
    assert [cell["execution_count"] for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    assert pictures(notebook) >= 1
    assert not re.search(r"/(home|work|tmp|usr)/", path.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("nbclient", "ipykernel"):
        pytest.importorskip(package, reason="`make docs` installs it")
    for package in LIBRARIES.get(path.stem, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; the nightly job `downstream_notebook` runs this notebook")
    for tool in TOOLS.get(path.stem, ()):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    monkeypatch.syspath_prepend(ROOT / "docs")
    sys.modules.pop("run_notebooks", None)
    import run_notebooks

    again, before = run_notebooks.run(path), json.loads(path.read_text())
    assert printed(again) == printed(before)
    assert pictures(again) == pictures(before)
