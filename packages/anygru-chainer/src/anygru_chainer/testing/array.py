"""Comparing arrays."""

from typing import Any

import numpy

from ..backends import _cpu
from ..utils import force_array
from ..variable import as_array

__all__ = ["assert_allclose"]


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Raise AssertionError unless two arrays or Variables are close, with both in the message."""
    x, y = (_cpu.array_to_cpu(force_array(as_array(value))) for value in (x, y))
    numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, verbose=verbose)
