"""The conformance programs of every dialect, compared with the original framework's results.

No program is skipped or expected to fail, except OneFlow's global tensors with an older torch.
"""

import os
import sys
from pathlib import Path

import pytest

from anygru import dialects

CONFORMANCE = Path(__file__).parent / "conformance"
PACKAGES = Path(__file__).resolve().parents[1] / "packages"
PROGRAMS = sorted(PACKAGES.glob("*/tests/conformance/[0-9]*.py"))
needs_new_torch = pytest.mark.needs_torch(2, 13, because="older layouts of distributed tensors differ")
MARKED = [
    pytest.param(
        path,
        marks=needs_new_torch if "placement" in path.read_text() else (),
        id=f"{path.parents[2].name[7:]}/{path.stem}",
    )
    for path in PROGRAMS
]


def name(program):
    """A program's dialect and number: "mxnet/001_gru"."""
    return f"{program.parents[2].name.removeprefix('anygru-')}/{program.stem}"


@pytest.fixture(scope="module")
def check():
    """The module `check.py` in the folder of the programs."""
    sys.path.insert(0, str(CONFORMANCE))
    try:
        import check

        yield check
    finally:
        sys.path.remove(str(CONFORMANCE))


@pytest.fixture
def speaking(program, warm_pythons, monkeypatch):
    """Python where the dialects have their original names, as `check.run` starts it, with torch and the dialect imported."""
    modules = f"{name(program).partition('/')[0]} torch._dynamo"  # optimizers import torch's compiler
    variables = {"OMP_NUM_THREADS": "1", "ANYGRU_WARM_MODULES": modules}
    for variable, value in (dialects.environment(os.environ) | variables).items():
        monkeypatch.setenv(variable, value)
    path = os.pathsep.join([str(CONFORMANCE), os.environ["PYTHONPATH"]])
    return [warm_pythons.start(os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": path})]


def test_programs_are_there():
    assert {name(path).partition("/")[0] for path in PROGRAMS} == {"chainer", "mxnet", "oneflow", "paddle"}


@pytest.mark.parametrize("program", MARKED)
def test_program(program, check, speaking):
    assert check.check(program, speaking) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", MARKED)
def test_program_under_anygru_run(program, check, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert check.check(program, [sys.executable, "-m", "anygru", "run"]) == []
