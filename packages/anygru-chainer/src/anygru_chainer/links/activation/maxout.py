"""Maxout."""

from ...backends._tensors import ARRAYS
from ...functions.activations import maxout
from ...initializer import Initializer
from ...link import Chain
from ...types import InitializerSpec, VariableLike
from ...variable import Variable
from ..connection.linear import Linear

__all__ = ["Maxout"]


class Maxout(Chain):
    """The largest of `pool_size` linear maps for each of `out_size` outputs.

    Args:
        initialW: initializer, or array [out_size, pool_size, in_size].
        initial_bias: initializer, scalar, or array [out_size, pool_size].
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
        with self.init_scope():
            self.linear = Linear(
                in_size,
                out_size * pool_size,
                nobias=initial_bias is None,
                initialW=_flat("initialW", initialW, (out_size, pool_size, in_size)),
                initial_bias=_flat("initial_bias", initial_bias, (out_size, pool_size)),
            )

    def forward(self, x: VariableLike) -> Variable:
        """[B, out_size] from x [B, in_size]."""
        return maxout(self.linear(x), self.pool_size)


def _flat(name: str, initial: InitializerSpec, shape: tuple[int, ...]) -> InitializerSpec:
    """Initial values of the linear link: an array, and an array that a function fills, have one axis more than the link's.

    An `Initializer` sees the link's own array, as in Chainer 7.8.1 (`links/activation/maxout.py`, read), so its fans differ.
    """
    if isinstance(initial, ARRAYS):
        if initial.ndim != len(shape):
            raise ValueError(f"{name}.ndim should be {len(shape)}, got {initial.ndim}")
        return initial.reshape(-1, *shape[2:])
    if callable(initial) and not isinstance(initial, Initializer):
        return lambda array: initial(array.reshape(shape))
    return initial
