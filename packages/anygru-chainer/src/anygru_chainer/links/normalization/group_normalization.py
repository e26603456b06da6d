"""Group normalization."""

import numpy

from ...configuration import get_dtype
from ...functions.normalizations import group_normalization
from ...initializers import fillers
from ...types import InitializerSpec, VariableLike
from ...variable import Variable
from .affine import Affine

__all__ = ["GroupNormalization"]


class GroupNormalization(Affine):
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
        gamma = fillers.get_initializer(1 if initial_gamma is None else initial_gamma)
        beta = fillers.get_initializer(0 if initial_beta is None else initial_beta)
        # Under `mixed16` these are float32 and those of LayerNormalization float16 (Chainer 7.8.1, recorded).
        gamma.dtype = beta.dtype = get_dtype(None, map_mixed16=numpy.float32)
        super().__init__(size, eps, gamma, beta)
        self.groups = groups

    def forward(self, x: VariableLike) -> Variable:
        """The normalized x [B, C, ...] (ValueError for less than two axes)."""
        if self.gamma.array is None:
            if x.ndim < 2:
                raise ValueError(
                    "Input dimension must be at least 2, including batch size dimension (first dimension)."
                )
            self._initialize_params(x.shape[1])
        return group_normalization(x, self.groups, self.gamma, self.beta, self.eps)
