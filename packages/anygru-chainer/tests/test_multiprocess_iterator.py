"""`MultiprocessIterator` in a separate interpreter: it forks, and other tests load libraries with threads that a fork
may break."""

import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).with_name("multiprocess_iterator_cases.py")


def test_all_cases() -> None:
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow", CASES,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=CASES.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
