"""A parameter as a link."""

from typing import Any

from ... import variable
from ...functions.arithmetic import identity
from ...link import Link
from ...types import NdArray

__all__ = ["Parameter"]


class Parameter(Link):
    """A link whose call gives its only parameter W, which starts as a given array."""

    def __init__(self, array: NdArray) -> None:
        super().__init__()
        self.add_param("W", array.shape, dtype=array.dtype)
        self.W.array = array

    W: Any

    def forward(self, volatile: Any = None) -> variable.Variable:
        """A Variable with the values of W, through which gradients flow to W."""
        return identity(self.W)
