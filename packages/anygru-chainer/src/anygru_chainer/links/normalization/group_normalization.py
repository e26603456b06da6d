"""Group normalization."""

import numpy

from ...configuration import get_dtype
from ...functions.normalizations import group_normalization
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, VariableLike
from ...variable import Parameter, Variable

__all__ = ["GroupNormalization"]


class GroupNormalization(Link):
    """Normalization of groups of channels with a learnt scale gamma and shift beta for each channel.

    Args:
        groups: number of groups, by which the number of channels can be divided.
        size: number of channels; None to take it from the first input.
        eps: added to the variance.
        initial_gamma, initial_beta: 1 and 0 by default.
    """

    def __init__(
        self,
        groups: int,
        size: int | None = None,
        eps: float = 1e-5,
        initial_gamma: InitializerSpec = None,
        initial_beta: InitializerSpec = None,
    ) -> None:
        super().__init__()
        self.groups = groups
        self.eps = eps
        gamma = fillers.get_initializer(1 if initial_gamma is None else initial_gamma)
        beta = fillers.get_initializer(0 if initial_beta is None else initial_beta)
        gamma.dtype = beta.dtype = get_dtype(None, map_mixed16=numpy.float32)
        with self.init_scope():
            self.gamma = Parameter(gamma)
            self.beta = Parameter(beta)
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        self.gamma.initialize(size)
        self.beta.initialize(size)

    def forward(self, x: VariableLike) -> Variable:
        """The normalized x [B, C, ...] (ValueError for less than two axes)."""
        if self.gamma.array is None:
            if x.ndim < 2:
                raise ValueError(
                    "Input dimension must be at least 2, including batch size dimension (first dimension)."
                )
            self._initialize_params(x.shape[1])
        return group_normalization(x, self.groups, self.gamma, self.beta, self.eps)
