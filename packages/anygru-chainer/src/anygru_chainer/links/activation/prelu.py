"""Activations with one learnt array."""

from ...functions.activations import prelu, swish
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, ShapeSpec, VariableLike
from ...variable import Parameter, Variable

__all__ = ["PReLU", "Swish"]


class PReLU(Link):
    """`prelu(x, W)` with W of a given shape, 0.25 at first."""

    def __init__(self, shape: ShapeSpec | None = (), init: InitializerSpec = 0.25) -> None:
        super().__init__()
        with self.init_scope():
            self.W = Parameter(init, shape)

    def forward(self, x: VariableLike) -> Variable:
        """`x` where it is positive, `W * x` elsewhere."""
        return prelu(x, self.W)


class Swish(Link):
    """`x * sigmoid(beta * x)` with beta of a given shape; None takes that of an input without its first axis."""

    def __init__(self, beta_shape: ShapeSpec | None, beta_init: float = 1.0) -> None:
        super().__init__()
        with self.init_scope():
            self.beta = Parameter(fillers.Constant(beta_init), beta_shape)

    def forward(self, x: VariableLike) -> Variable:
        """The activation of x [B, ...]."""
        if self.beta.array is None:
            self.beta.initialize(x.shape[1:])
        return swish(x, self.beta)
