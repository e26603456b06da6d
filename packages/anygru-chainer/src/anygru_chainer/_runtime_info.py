"""The versions of the packages that compute."""

import importlib.metadata
import platform
import sys
from typing import TextIO

import numpy
import torch

__version__ = "7.8.1"


def print_runtime_info(out: TextIO | None = None) -> None:
    """Print the versions of Python's platform, the dialect, NumPy, PyTorch and CUDA."""
    (sys.stdout if out is None else out).write(
        f"Platform: {platform.platform()}\nChainer: {__version__} (dialect of anygru {importlib.metadata.version('anygru')})\n"
        f"NumPy: {numpy.__version__}\nPyTorch: {torch.__version__}\nCUDA: {torch.version.cuda or 'Not Available'}\n"
    )
