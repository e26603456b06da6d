"""Layer normalization."""

from ...functions.normalizations import layer_normalization
from ...types import InitializerSpec, VariableLike
from ...utils import size_of_shape
from ...variable import Variable
from .affine import Affine

__all__ = ["LayerNormalization"]


class LayerNormalization(Affine):
    """Layer normalization of rows with a learnt scale gamma and shift beta.

    Args:
        size: size of a row; None to take it from the first input.
        eps: added to the variance.
        initial_gamma, initial_beta: 1 and 0 by default.
    """

    def __init__(
        self,
        size: int | None = None,
        # The function's own default is 1e-5 (Chainer 7.8.1, seen for both).
        eps: float = 1e-6,
        initial_gamma: InitializerSpec = None,
        initial_beta: InitializerSpec = None,
    ) -> None:
        super().__init__(size, eps, initial_gamma, initial_beta)

    def forward(self, x: VariableLike) -> Variable:
        """The normalized x [B, N]."""
        if self.gamma.array is None:
            self._initialize_params(size_of_shape(x.shape[1:]))
        return layer_normalization(x, self.gamma, self.beta, self.eps)
