"""Maxout."""

from __future__ import annotations

from typing import Any

import numpy

from ...functions.activations import maxout
from ...link import Chain
from ...types import InitializerSpec, VariableLike
from ...variable import Variable
from ..connection.linear import Linear

__all__ = ["Maxout"]


class Maxout(Chain):
    """The largest of `pool_size` linear maps for each of `out_size` outputs.

    Args:
        initialW: initializer, or array [pool_size * out_size, in_size].
        initial_bias: scalar, or array [pool_size, out_size].
    """

    def __init__(
        self,
        in_size: int,
        out_size: int,
        pool_size: int,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = 0,
    ) -> None:
        super().__init__()
        self.out_size = out_size
        self.pool_size = pool_size
        n_bias: Any = initial_bias
        if initial_bias is not None and not numpy.isscalar(initial_bias):
            n_bias = initial_bias.reshape(-1)
        with self.init_scope():
            self.linear = Linear(
                in_size, out_size * pool_size, nobias=n_bias is None, initialW=initialW, initial_bias=n_bias
            )

    def forward(self, x: VariableLike) -> Variable:
        """[B, out_size] from x [B, in_size]."""
        return maxout(self.linear(x), self.pool_size)
