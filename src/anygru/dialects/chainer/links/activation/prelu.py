"""The parametric rectified linear unit."""

from ...functions.activations import prelu
from ...link import Link
from ...types import InitializerSpec, ShapeSpec, VariableLike
from ...variable import Parameter, Variable

__all__ = ["PReLU"]


class PReLU(Link):
    """`prelu(x, W)` with W of a given shape, 0.25 at first."""

    def __init__(self, shape: ShapeSpec | None = (), init: InitializerSpec = 0.25) -> None:
        super().__init__()
        with self.init_scope():
            self.W = Parameter(init, shape)

    def forward(self, x: VariableLike) -> Variable:
        """`x` where it is positive, `W * x` elsewhere."""
        return prelu(x, self.W)
