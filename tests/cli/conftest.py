"""The command line as a function, and a tiny run to try it on."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from cli.command_line import TINY, start

from anygru.cli import main


class Result(NamedTuple):
    status: int
    out: str
    error: str


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A text file of a few documents."""
    path = tmp_path_factory.mktemp("text") / "rhyme.txt"
    path.write_text("".join(f"{n} green bottles\nhanging on the wall.\n\n" for n in range(60, 0, -1)))
    return path


@pytest.fixture
def anygru(capfd):
    """Run a command in this process; a usage error must be one line and no more."""

    def call(*arguments):
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        return Result(status, *capfd.readouterr())

    return call


@pytest.fixture
def train(anygru, text, tmp_path, monkeypatch):
    """`anygru train` with tiny sizes and no final report, into the folder `run` unless --out is given."""
    from anygru.cli.language_model import report

    monkeypatch.setattr(report, "finish", lambda folder, progress, corpus, xz: print("finished"))

    def call(*arguments):
        out = [] if "--out" in arguments else ["--out", tmp_path / "run"]
        resuming = "--resume" in arguments
        return anygru("train", *([] if resuming else [text, *TINY]), *out, *arguments)

    return call


@pytest.fixture(scope="session")
def finished(text, tmp_path_factory):
    """The folder of a finished run of 6 steps, not to be changed."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    process = start("train", text, *TINY, "--steps", 6, "--every", 2, "--out", folder)
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    (folder / "printed").write_text(out)
    (folder / "said").write_text(error)
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the finished run."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))
