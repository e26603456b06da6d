"""Linear maps."""

from collections.abc import Iterator
from typing import Any

from ...functions.products import linear
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, VariableLike
from ...utils import size_of_shape
from ...variable import Parameter, Variable, as_array

__all__ = ["Linear"]


class Linear(Link):
    """`x @ W.T + b` with W [out_size, in_size] and b [out_size].

    Args:
        in_size: M; None to take it from the first input. `Linear(n)` is `Linear(None, n)`.
        out_size: N.
        nobias: leave b out (it is None).
        initialW: LeCunNormal by default.
        initial_bias: 0 by default.
    """

    W: Any
    b: Any

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
    ) -> None:
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size = in_size
        self.out_size = out_size
        with self.init_scope():
            self.W = Parameter(fillers.get_initializer(initialW))
            if in_size is not None:
                self._initialize_params(in_size)
            if nobias:
                self.b = None
            else:
                self.b = Parameter(fillers.get_initializer(0 if initial_bias is None else initial_bias), out_size)

    def _initialize_params(self, in_size: int) -> None:
        self.W.initialize((self.out_size, in_size))

    @classmethod
    def from_params(cls, W: VariableLike, b: VariableLike = None, nobias: bool = False) -> "Linear":
        """A link with copies of existing arrays or Variables (ValueError if their sizes differ)."""
        out_size, in_size = W.shape
        if b is not None and b.size != out_size:
            raise ValueError(f"`out_size` does not match the size of `b`: {out_size} != {b.size}")
        return cls(in_size, out_size, nobias, initialW=as_array(W), initial_bias=as_array(b))

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from [("in_size", self.in_size), ("out_size", self.out_size), ("nobias", self.b is None)]

    def forward(self, x: VariableLike, n_batch_axes: int = 1) -> Variable:
        """[B, N] from x [B, ...], whose axes after the batch axes are flattened."""
        if self.W.array is None:
            self._initialize_params(size_of_shape(x.shape[n_batch_axes:]))
        return linear(x, self.W, self.b, n_batch_axes=n_batch_axes)
