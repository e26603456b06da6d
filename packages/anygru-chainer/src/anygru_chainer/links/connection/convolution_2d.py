"""Convolutions of pictures."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ...functions.convolutions import (
    as_pair,
    convolution_2d,
    deconvolution_2d,
    depthwise_convolution_2d,
    dilate_and_groups,
)  # fmt: skip
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, VariableLike
from ...utils.conv_nd import Ints
from ...variable import Parameter, Variable, as_array
from .convolution_nd import ConvolutionBase

__all__ = ["Convolution2D", "Deconvolution2D", "DepthwiseConvolution2D", "DilatedConvolution2D"]


class PicturesBase(ConvolutionBase):
    """The base of convolutions of pictures: the arguments and attributes that both directions have."""

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Ints | None = None,
        stride: Ints = 1,
        pad: Ints = 0,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
        **kwargs: Any,
    ) -> None:
        dilate, groups = dilate_and_groups(kwargs)
        super().__init__(2, in_channels, out_channels, ksize, nobias, initialW, initial_bias, groups)
        self.stride = as_pair(stride)
        self.pad = as_pair(pad)
        self.dilate = as_pair(dilate)


class Convolution2D(PicturesBase):
    """Convolution of pictures; see `ConvolutionBase`. `Convolution2D(n, k)` is `Convolution2D(None, n, k)`.

    Args:
        ksize, stride, pad: an int or a pair (rows, columns).
        dilate, groups: keywords, 1 by default; see `functions.convolution_2d`.
    """

    @classmethod
    def from_params(
        cls,
        W: VariableLike,
        b: VariableLike = None,
        stride: Ints = 1,
        pad: Ints = 0,
        nobias: bool = False,
        **kwargs: Any,
    ) -> "Convolution2D":
        """A link with copies of existing arrays or Variables."""
        out_channels, in_channels, *ksize = W.shape
        in_channels *= kwargs.get("groups", 1)
        return cls(in_channels, out_channels, tuple(ksize), stride, pad, nobias, as_array(W), as_array(b), **kwargs)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        for name in ("in_channels", "out_channels", "ksize", "stride", "pad"):
            yield name, getattr(self, name)
        yield from [("nobias", self.b is None), ("dilate", self.dilate), ("groups", self.groups)]

    def _convolve(self, x: VariableLike) -> Variable:
        return convolution_2d(x, self.W, self.b, self.stride, self.pad, dilate=self.dilate, groups=self.groups)


class DilatedConvolution2D(Convolution2D):
    """`Convolution2D` with its arguments in another order: `dilate` comes after `pad`."""

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Ints | None = None,
        stride: Ints = 1,
        pad: Ints = 0,
        dilate: Ints = 1,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
    ) -> None:
        super().__init__(in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias, dilate=dilate)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from ()  # it says nothing of itself (Chainer 7.8.1, recorded)


class Deconvolution2D(PicturesBase):
    """Transposed convolution of pictures; see `Convolution2D`.

    Args:
        outsize: rows and columns of the result, by default the smallest ones.
    """

    transposed = True

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Ints | None = None,
        stride: Ints = 1,
        pad: Ints = 0,
        nobias: bool = False,
        outsize: Sequence[int] | None = None,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias, **kwargs)
        self.outsize = (None, None) if outsize is None else outsize

    def _convolve(self, x: VariableLike) -> Variable:
        size = None if self.outsize[0] is None else self.outsize
        options: dict[str, Any] = {"outsize": size, "dilate": self.dilate, "groups": self.groups}
        return deconvolution_2d(x, self.W, self.b, self.stride, self.pad, **options)


class DepthwiseConvolution2D(Link):
    """A convolution of each channel alone, with filters W [M, C, rows, columns].

    Args:
        in_channels: C; None to take it from the first input.
        channel_multiplier: M, the number of results for each channel.
        ksize, stride, pad: an int or a pair (rows, columns).
        nobias: leave out the bias b [M * C].
        initialW: initializer of W, by default HeNormal with the scale 1 / sqrt(2).
        initial_bias: initializer of b, 0 by default.
    """

    def __init__(
        self,
        in_channels: int | None,
        channel_multiplier: int,
        ksize: Ints,
        stride: Ints = 1,
        pad: Ints = 0,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
    ) -> None:
        super().__init__()
        self.ksize = ksize
        self.stride = as_pair(stride)
        self.pad = as_pair(pad)
        self.channel_multiplier = channel_multiplier
        self.nobias = nobias
        # LeCunNormal by another name: sqrt(2 / fan) / sqrt(2) (Chainer 7.8.1, read).
        initialW = fillers.HeNormal(1 / math.sqrt(2)) if initialW is None else initialW
        with self.init_scope():
            self.W = Parameter(fillers.get_initializer(initialW))
            self.b = None if nobias else Parameter(fillers.get_initializer(0 if initial_bias is None else initial_bias))
        if in_channels is not None:
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:
        self.W.initialize((self.channel_multiplier, in_channels, *as_pair(self.ksize)))
        if self.b is not None:
            self.b.initialize(self.channel_multiplier * in_channels)

    def forward(self, x: VariableLike) -> Variable:
        """The results [B, M * C, rows, columns] for x [B, C, rows, columns], those of a channel side by side."""
        if self.W.array is None:
            self._initialize_params(x.shape[1])
        found: Variable = depthwise_convolution_2d(x, self.W, self.b, self.stride, self.pad)
        return found
