"""The weights of convolutions that enlarge or shrink pictures by linear interpolation."""

from collections.abc import Callable
from functools import reduce

import numpy
from numpy.typing import DTypeLike

from .. import backend
from ..initializer import Initializer
from ..types import NdArray

__all__ = ["DownsamplingConvFilter", "UpsamplingDeconvFilter"]

Filter = Callable[[NdArray], NdArray]


class _Sampling(Initializer):
    """A weight [I, O, K, ...] of as many outputs as inputs, or of one, that treats each channel by itself."""

    _scaled: Filter = staticmethod(lambda kernel: kernel)

    def __init__(self, interpolation: str = "linear", dtype: DTypeLike | None = None) -> None:
        if interpolation != "linear":
            raise ValueError(f"Unsupported interpolation method: {interpolation}")
        super().__init__(dtype)

    def __call__(self, array: NdArray) -> None:
        self.check_dtype(array)
        n_in, n_out, *sizes = array.shape
        assert n_out in (n_in, 1), f"a weight of as many outputs as inputs, or of one, is needed, got {array.shape}"
        if len(set(sizes)) > 1:
            raise ValueError(f"ksize must be all same: {sizes}")
        distances = numpy.abs(numpy.arange(sizes[0]) - (sizes[0] - 1) / 2)
        kernel = self._scaled(reduce(numpy.multiply.outer, [1 - distances / ((sizes[0] + 1) // 2)] * len(sizes)))
        weight = numpy.zeros(array.shape)
        channels = numpy.arange(n_in)
        weight[channels, channels if n_out == n_in else 0] = kernel
        backend.copyto(array, weight.astype(array.dtype))


class UpsamplingDeconvFilter(_Sampling):
    """The weight of a deconvolution that enlarges, with a stride of `(ksize + 1) // 2`."""


class DownsamplingConvFilter(_Sampling):
    """The weight of a convolution that shrinks, with a stride of `(ksize + 1) // 2`."""

    _scaled: Filter = staticmethod(lambda kernel: kernel / kernel.sum())
