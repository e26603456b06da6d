"""Lets the tests import `paddle_programs`, which is in their folder, and keeps them on the CPU, whose numbers were recorded."""

import sys
from pathlib import Path

import anygru_paddle as paddle

sys.path.insert(0, str(Path(__file__).parent))
paddle.set_device("cpu")  # where torch sees a GPU that is the device otherwise; `test_gpu.py` goes there
