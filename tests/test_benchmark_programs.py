"""The programs of `benchmarks/` start: each answers --help, and most measure a small case."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
TURN = ("--rounds", "1", "--seconds", "0.01")
ONE_CELL = ("--threads", "1", *TURN, "--out", ".", "--only")
SMALL = {
    "cells.py": ("--seconds", "0.01", "--batch", "1", "--hidden", "8"),
    "c_export.py": ("--repeats", "1", "--cells", "1x8"),
    "frozen.py": (*ONE_CELL, "5"),
    "frozen_accuracy.py": ("--layers", "1", "--steps", "5"),
    "frozen_aware.py": ("--hidden", "8", "--steps", "5", "--seeds", "1"),
    "half.py": (*ONE_CELL, "0", "--work", "inference"),
    "modifiers.py": ("--seconds", "0.01", "--only", "decay", "--reset", "after"),
    "run.py": (*ONE_CELL, "0"),
    "scaling.py": ("--steps", "1", "--rounds", "1", "--hidden", "8", "--batch", "2"),
    "serving.py": (
        "--clients",
        "4",
        "--rate",
        "100",
        "--rounds",
        "1",
        "--seconds",
        "0.5",
    ),  # over one tick of the clock
    "sessions.py": TURN,
    "versions.py": (sys.executable, *TURN),
}
"""Arguments. Other programs need another framework, a compiler for another machine, a GPU or minutes."""
QUICK = ("cells.py",)


@pytest.mark.parametrize("program", sorted(path.name for path in BENCHMARKS.glob("*.py")))
def test_it_answers_help(program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [program, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCHMARKS / program), run_name="__main__")
    assert ended.value.code == 0
    assert f"usage: {program}" in capsys.readouterr().out


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(
    "program", [*QUICK, *(pytest.param(x, marks=pytest.mark.slow) for x in SMALL if x not in QUICK)]
)
def test_it_measures_a_small_case(program: str, tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / program), *SMALL[program]]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout
    assert "Traceback" not in found.stderr, "of a process that it started"


def test_what_the_service_closes_is_a_context() -> None:
    """`examples/serving/serve.py` ends sessions with `with`, and `serving.py` replaces them by its peer's."""
    session = runpy.run_path(str(BENCHMARKS / "serving.py"))["OnnxSession"]
    with session(None) as opened:
        assert opened.steps == 0
