"""A learnt summand."""

from ...functions import products as function
from ...initializers import fillers
from ...link import Link
from ...types import ShapeSpec, VariableLike
from ...variable import Parameter, Variable

__all__ = ["Bias"]


class Bias(Link):
    """`x + b` with the axes of b at `axis` of x; without a shape, b is the second argument of the call."""

    def __init__(self, axis: int = 1, shape: ShapeSpec | None = None) -> None:
        super().__init__()
        self.axis = axis
        if shape is not None:
            with self.init_scope():
                self.b = Parameter(fillers.Zero(), shape)

    def forward(self, *xs: VariableLike) -> Variable:
        """`x + b`, from x or from x and b (AssertionError if b comes twice or not at all)."""
        if (len(xs) == 1) != hasattr(self, "b"):
            raise AssertionError(f"Bias takes x alone if it has a parameter, else x and b; got {len(xs)} arguments")
        return function.bias(xs[0], self.b if len(xs) == 1 else xs[1], self.axis)
