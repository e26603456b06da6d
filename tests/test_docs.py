"""Every example program, every Python block of the README and the guides, and the README's commands run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
DIALECT = re.compile(r"^\s*(?:import|from) (?:paddle|oneflow|mxnet|chainer)\b", re.MULTILINE)


def run(command: list[str], folder: Path) -> str:
    environment = dict(os.environ, OMP_NUM_THREADS="1", MPLBACKEND="agg", PYTHONPATH="")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    assert run([sys.executable, "-W", "error", str(path)], tmp_path).strip()


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


SCRIPTS = [page for page in PAGES if blocks(page, "python") and page.stem != "deploy"]


@pytest.mark.parametrize("page", SCRIPTS, ids=lambda page: page.name)
def test_python_blocks(page: Path, tmp_path: Path) -> None:
    """The blocks of one page are one script; a page about a dialect runs as its readers would run it."""
    script = tmp_path / "blocks.py"
    script.write_text("\n".join(blocks(page, "python")))
    # Keras hands its variables to h5py in the manner of NumPy 1.
    plain = ["-W", "error", "-W", "ignore:__array__ implementation:DeprecationWarning"]
    runner = ["-m", "anygru", "run"] if DIALECT.search(script.read_text()) else plain
    run([sys.executable, *runner, str(script)], tmp_path)


@pytest.mark.parametrize(("page", "least"), [("README.md", 5), ("docs/deploy.md", 2)])
def test_commands(page: str, least: int, tmp_path: Path) -> None:
    """The Python blocks of a page, and then its commands in the same folder, since these read what those wrote."""
    test_python_blocks(ROOT / page, tmp_path)
    commands = [line for block in blocks(ROOT / page, "sh") for line in block.splitlines()]
    assert len(commands) >= least
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "anygru"
        assert run([sys.executable, "-m", "anygru", *arguments], tmp_path).strip(), command
