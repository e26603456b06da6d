"""The kernels touch no byte past the end of a tensor."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anygru.backends.cpu_calls import native

FOR_TESTS = ("tiles", "wide")  # sets that no CPU chooses by itself, compiled for size
VARIANTS = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in FOR_TESTS))
    for name in ([] if native is None else native.frozen_variants())
]
PROGRAM = Path(__file__).with_name("guard_pages.py")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or native is None, reason="needs Linux and the native module"),
    pytest.mark.usefixtures("warm_python"),
]


def run(variant: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", str(PROGRAM), variant]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_byte_past_the_end_would_be_seen() -> None:
    assert run("overrun").returncode == -signal.SIGSEGV


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_byte_past_the_end_of_a_tensor_is_touched(variant: str) -> None:
    found = run(variant)
    assert found.returncode == 0, found.stderr
    calls, tensors = map(int, found.stdout.split())
    assert calls > 300
    assert tensors > 5 * calls
