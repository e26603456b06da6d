"""Lets the tests here share `samples.py`, and the process that runs commands."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def commands() -> Iterator[Any]:
    from commands import Commands  # needs Linux

    running = Commands()
    yield running
    running.close()
