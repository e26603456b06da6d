"""Every operator of the dialect, one topic a file."""

from . import convolution, create, elementwise, index, linalg, neural, random, recurrent, reduce, shape
from .registry import OPERATORS, Operator

__all__ = [
    "OPERATORS",
    "Operator",
    "convolution",
    "create",
    "elementwise",
    "index",
    "linalg",
    "neural",
    "random",
    "recurrent",
    "reduce",
    "shape",
]
