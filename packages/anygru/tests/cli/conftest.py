"""The command line as a function."""

from typing import NamedTuple

import pytest

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
