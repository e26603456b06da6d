"""Every operator of the dialect, one topic a file."""

from . import create, elementwise, index, neural, random, recurrent, reduce, shape
from .registry import OPERATORS, Operator

__all__ = [
    "OPERATORS",
    "Operator",
    "create",
    "elementwise",
    "index",
    "neural",
    "random",
    "recurrent",
    "reduce",
    "shape",
]
