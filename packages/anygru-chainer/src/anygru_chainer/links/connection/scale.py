"""A learnt factor."""

from ...functions import products as function
from ...initializers import fillers
from ...link import Chain
from ...types import ShapeSpec, VariableLike
from ...variable import Parameter, Variable
from .bias import Bias

__all__ = ["Scale"]


class Scale(Chain):
    """`x * W (+ b)` with the axes of W at `axis` of x; without a shape, W is the second argument of the call.

    Args:
        axis: where the axes of W are.
        W_shape: shape of W; None for no parameter.
        bias_term: add a Bias.
        bias_shape: shape of the bias, by default that of W.
    """

    def __init__(
        self,
        axis: int = 1,
        W_shape: ShapeSpec | None = None,
        bias_term: bool = False,
        bias_shape: ShapeSpec | None = None,
    ) -> None:
        super().__init__()
        self.axis = axis
        with self.init_scope():
            if W_shape is not None:
                self.W = Parameter(fillers.One(), W_shape)
            elif bias_term and bias_shape is None:
                raise ValueError("bias_shape should be given if W is not learnt parameter and bias_term is True.")
            if bias_term:
                self.bias = Bias(axis, W_shape if W_shape is not None else bias_shape)

    def forward(self, *xs: VariableLike) -> Variable:
        """`x * W`, from x or from x and W (AssertionError if W comes twice or not at all)."""
        if (len(xs) == 1) != hasattr(self, "W"):
            raise AssertionError(f"Scale takes x alone if it has a parameter, else x and W; got {len(xs)} arguments")
        y = function.scale(xs[0], self.W if len(xs) == 1 else xs[1], self.axis)
        return self.bias(y) if hasattr(self, "bias") else y
