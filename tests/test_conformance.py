"""The conformance programs of every dialect, each against what the original framework computed.

A program that fails is a failure, whatever the state of its dialect: nothing here is skipped or expected to fail.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from anygru import dialects

CONFORMANCE = Path(__file__).parent / "conformance"
PACKAGES = Path(__file__).resolve().parents[1] / "packages"
PROGRAMS = sorted(PACKAGES.glob("*/tests/conformance/[0-9]*.py"))


def name(program):
    """A program's dialect and number: "mxnet/001_gru"."""
    return f"{program.parents[2].name.removeprefix('anygru-')}/{program.stem}"


@pytest.fixture(scope="module")
def check():
    """The module `check.py` that stands beside the programs."""
    sys.path.insert(0, str(CONFORMANCE))
    try:
        import check

        yield check
    finally:
        sys.path.remove(str(CONFORMANCE))


@pytest.fixture(scope="module")
def forked():
    """A process that has imported torch and runs programs in forks of itself, as a function in `check.run`'s place."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "forked_run.py")],
        env=dialects.environment(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(program, command, out, timeout=300):
        variables = dialects.environment(os.environ) | {
            "TRACE_OUT": str(out),
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "CONFORMANCE_DATA": str(program.parent / "data"),
        }
        variables["PYTHONPATH"] += os.pathsep + str(CONFORMANCE)
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("r") as output:
            request = {"script": str(program), "folder": folder, "variables": variables, "output": output.name}
            server.stdin.write(json.dumps(request | {"path": [str(CONFORMANCE)]}) + "\n")
            server.stdin.flush()
            status = int(server.stdout.readline())
            return subprocess.CompletedProcess([str(program)], status, stdout=output.read())

    with server:
        yield run
        server.stdin.close()


def test_programs_are_there():
    assert {name(path).partition("/")[0] for path in PROGRAMS} == {"chainer", "mxnet", "oneflow", "paddle"}


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_program(program, check, forked, monkeypatch):
    monkeypatch.setattr(check, "run", forked)
    assert check.check(program, []) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_program_under_anygru_run(program, check, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert check.check(program, [sys.executable, "-m", "anygru", "run"]) == []
