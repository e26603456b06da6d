"""Bilinear maps."""

from typing import Any

import numpy

from ...backends._tensors import ARRAYS
from ...functions import products as function
from ...initializer import Initializer
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, NdArray, VariableLike
from ...variable import Parameter, Variable

__all__ = ["Bilinear"]


class Bilinear(Link):
    """`e1 W e2 + e1 V1 + e2 V2 + b` with W [left, right, out].

    Args:
        left_size, right_size, out_size: sizes of e1, e2 and the output.
        nobias: leave V1, V2 and b out.
        initialW: LeCunNormal (over W as a matrix) by default.
        initial_bias: a triple for V1, V2 and b; LeCunNormal and 0 by default.
    """

    def __init__(
        self,
        left_size: int,
        right_size: int,
        out_size: int,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
    ) -> None:
        super().__init__()
        self.in_sizes = (left_size, right_size)
        self.nobias = nobias
        with self.init_scope():
            shape = (left_size, right_size, out_size)
            given = isinstance(initialW, ARRAYS)  # an array has the shape of W itself
            _check_shape("initialW", initialW, shape)
            self.W = Parameter(initialW if given else _OverFirstAxis(fillers.get_initializer(initialW)), shape)
            if not nobias:
                v1, v2, b = (None, None, 0) if initial_bias is None else initial_bias
                if numpy.isscalar(initial_bias):
                    v1 = v2 = b = initial_bias
                sizes = (("V1", v1, (left_size, out_size)), ("V2", v2, (right_size, out_size)), ("b", b, (out_size,)))
                for name, initial, expected in sizes:
                    _check_shape(f"initial_bias, {name}", initial, expected)
                self.V1 = Parameter(fillers.get_initializer(v1), (left_size, out_size))
                self.V2 = Parameter(fillers.get_initializer(v2), (right_size, out_size))
                self.b = Parameter(fillers.get_initializer(b), out_size)

    def forward(self, e1: VariableLike, e2: VariableLike) -> Variable:
        """[B, out] from e1 [B, left] and e2 [B, right]."""
        rest = () if self.nobias else (self.V1, self.V2, self.b)
        return function.bilinear(e1, e2, self.W, *rest)


def _check_shape(name: str, initial: InitializerSpec, shape: tuple[int, ...]) -> None:
    """AssertionError for an array of another shape."""
    if isinstance(initial, ARRAYS) and initial.shape != shape:
        raise AssertionError(f"{name} must have the shape {shape}, got {initial.shape}")


class _OverFirstAxis(Initializer):
    """The initializer applied to a 3-dimensional array as a matrix, so that its fans are those of a matrix."""

    def __init__(self, initializer: Any) -> None:
        super().__init__(getattr(initializer, "dtype", None))
        self.initializer = initializer

    def __call__(self, array: NdArray) -> None:
        self.initializer(array.reshape(array.shape[0], -1))
