"""The dialect of `docs/dialects.md`, written to a folder, runs a program and passes its suite."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[1] / "docs/dialects.md").read_text()
PROGRAM = """
import torch
from toynet import nn
import anygru
torch.manual_seed(0)
layer = nn.GRU(3, 2)
x = torch.randn(4, 5, 2)
print(type(layer).__module__, tuple(layer(x).shape), torch.equal(layer(x), anygru.from_dialect(layer)(x)[0]))
try:
    nn.Conv9D()
except NotImplementedError as error:
    print(error)
"""


def block(after: str) -> str:
    """The first block of code behind some text of the page."""
    return re.search(r"```\w*\n(.*?)```", PAGE[PAGE.index(after) :], re.DOTALL)[1]


@pytest.fixture
def toynet(tmp_path: Path) -> Path:
    """A folder with the package, as an installer leaves it."""
    package = tmp_path / "anygru_toynet"
    package.mkdir()
    for name in ("__init__.py", "nn.py", "names.txt"):
        (package / name).write_text(block(f"`src/anygru_toynet/{name}`"))
    entry = re.search(r'^\[project\.entry-points\."(.*)"\]\n(\w+) = "(\w+)"', block("`pyproject.toml`"), re.MULTILINE)
    about = tmp_path / "anygru_toynet-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: anygru-toynet\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text(f"[{entry[1]}]\n{entry[2]} = {entry[3]}\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "test_toynet.py").write_text(block("Its test is the suite"))
    return tmp_path


def run(folder: Path, *command: str) -> str:
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "ANYGRU_NUMPY_NOTE": "0"},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def test_a_program_runs(toynet: Path) -> None:
    assert run(toynet, "-m", "anygru", "run", "program.py").splitlines() == [
        "toynet.nn (4, 5, 3) True",
        "toynet.nn.Conv9D is not covered by anygru's toynet dialect (nobody convolves in nine dimensions); "
        "use torch.nn.Conv3d",
    ]


def test_its_suite_passes(toynet: Path) -> None:
    assert "6 passed" in run(toynet, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_toynet.py")


def test_its_suite_sees_a_false_list_and_a_reach_past_the_contract(toynet: Path) -> None:
    with (toynet / "anygru_toynet/names.txt").open("a") as file:
        file.write("[toynet]\n+ nothing\n")
    with (toynet / "anygru_toynet/nn.py").open("a") as file:
        file.write("from anygru.layers.recurrent import Recurrent\n")
    out = run(toynet, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_toynet.py")
    assert "2 failed, 4 passed" in out
    assert "covers ['nothing']" in out
    assert "imports ['anygru.layers.recurrent.Recurrent']" in out
