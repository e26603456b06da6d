"""The scale and the shift of normalized values."""

from ...link import Link
from ...types import InitializerSpec
from ...variable import Parameter

__all__: list[str] = []


class Affine(Link):
    """The base of normalizations with a learnt scale gamma [size] and shift beta [size].

    Args:
        size: None to take it from the first input.
        eps: added to the variance.
        initial_gamma, initial_beta: 1 and 0 by default.
    """

    def __init__(
        self, size: int | None, eps: float, initial_gamma: InitializerSpec, initial_beta: InitializerSpec
    ) -> None:
        super().__init__()
        self.eps = eps
        with self.init_scope():
            self.gamma = Parameter(1 if initial_gamma is None else initial_gamma)
            self.beta = Parameter(0 if initial_beta is None else initial_beta)
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        self.gamma.initialize(size)
        self.beta.initialize(size)
