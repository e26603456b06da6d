"""`paddle.utils`."""

from __future__ import annotations

from . import unique_name as unique_name


def run_check() -> None:
    """Say that the dialect works."""
    print("PaddlePaddle is installed successfully! (This is anygru's Paddle dialect, on PyTorch.)")
