"""Marks of tests that need something: pytest selects by them, and tests that need a GPU are skipped where there is none."""

import importlib
import unittest
from collections.abc import Callable
from typing import Any, TypeVar

import torch

Test = TypeVar("Test", bound=Callable[..., Any])


def is_available() -> bool:
    """Whether pytest is there."""
    return importlib.util.find_spec("pytest") is not None


def _mark(name: str) -> Callable[[Test], Test]:
    def mark(test: Test) -> Test:
        marked: Test = getattr(importlib.import_module("pytest").mark, name)(test)
        return marked

    mark.__doc__ = f"Mark a test as one of `-m {name}`."
    return mark


chainerx, cudnn, ideep, slow = _mark("chainerx"), _mark("cudnn"), _mark("ideep"), _mark("slow")


def multi_gpu(gpu_num: int) -> Callable[[Test], Test]:
    """Mark a test that needs so many GPUs; it is skipped where there are fewer."""
    skip = unittest.skipUnless(torch.cuda.device_count() >= gpu_num, f"{gpu_num} GPUs required")
    return lambda test: skip(_mark("gpu")(test))


def gpu(test: Test) -> Test:
    """Mark a test that needs a GPU; it is skipped where there is none."""
    return multi_gpu(1)(test)
