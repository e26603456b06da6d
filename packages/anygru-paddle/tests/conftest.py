"""Lets the tests import `paddle_programs` from their folder, keeps them on the CPU, and counts names from 0 in each test."""

import sys
from pathlib import Path

import pytest

import anygru_paddle as paddle
from anygru_paddle.utils import unique_name

sys.path.insert(0, str(Path(__file__).parent))
paddle.set_device("cpu")  # the recorded numbers come from a CPU; where torch sees a GPU, `test_gpu.py` goes there


@pytest.fixture(autouse=True)
def names_from_zero():
    """Parameters and accumulators get numbered names; without a scope they depend on the tests that ran before."""
    with unique_name.guard():
        yield
