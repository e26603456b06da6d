"""Lets the tests import `paddle_programs` from their folder, keeps them on the CPU, and counts names from 0 in each test."""

import sys
from pathlib import Path

import pytest

import anygru_paddle as paddle
from anygru_paddle.utils import unique_name

sys.path.insert(0, str(Path(__file__).parent))
paddle.set_device("cpu")  # the recorded numbers come from a CPU; where torch sees a GPU, `test_gpu.py` goes there


@pytest.fixture(autouse=True)
def state_of_a_new_process():
    """Numbered names begin at 0, and the default dtype is float32, also after tests that changed them."""
    with unique_name.guard():
        yield
    paddle.set_default_dtype("float32")
