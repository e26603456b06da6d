"""The command line as a function, as in the core's tests, and a tiny run to try it on."""

import shutil
from pathlib import Path

import pytest
from cli.command_line import TINY, start
from cli.conftest import anygru as anygru
from cli.conftest import text as text


@pytest.fixture
def train(anygru, text, tmp_path, monkeypatch):
    """`anygru train` with tiny sizes and no final report, into the folder `run` unless --out is given."""
    from anygru_lab.language_model import report

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
