"""Convolutions and transposed convolutions over any number of axes."""

import math
from collections.abc import Iterator, Sequence
from functools import partialmethod
from typing import Any

from .. import initializers
from ..functions.convolutions import (
    as_pair,
    convolution_2d,
    convolution_nd,
    deconvolution_2d,
    deconvolution_nd,
    depthwise_convolution_2d,
    dilate_and_groups,
)
from ..link import Link
from ..types import InitializerSpec, VariableLike
from ..utils import argument
from ..utils.helpers import Ints, as_tuple
from ..variable import Parameter, Variable, as_array

__all__ = [
    "Convolution1D", "Convolution2D", "Convolution3D", "ConvolutionND", "Deconvolution1D", "Deconvolution2D",
    "Deconvolution3D", "DeconvolutionND", "DepthwiseConvolution2D", "DilatedConvolution2D",
]  # fmt: skip


class ConvolutionBase(Link):
    """The base of all convolutions: filters W [out_channels, in_channels / groups, k1, ...] and biases b [out_channels].

    A transposed one has W [in_channels, out_channels / groups, k1, ...].

    Args:
        ndim: number of axes.
        in_channels: None: taken from the first input. It is optional if `ksize` is then the second argument.
        out_channels: number of filters.
        ksize: an int, or one for each axis.
        nobias: leave b out (it is None).
        initialW: LeCunNormal by default.
        initial_bias: 0 by default.

    Raises:
        ValueError: `groups` does not divide the numbers of channels.
    """

    W: Any
    b: Any
    transposed = False

    def __init__(
        self,
        ndim: int,
        in_channels: int | None,
        out_channels: Any,
        ksize: Ints | None,
        nobias: bool,
        initialW: InitializerSpec,
        initial_bias: InitializerSpec,
        groups: int,
    ) -> None:
        super().__init__()
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.out_channels = out_channels
        self.ksize = ksize
        self.groups = int(groups)
        self._ndim = ndim
        with self.init_scope():
            self.W = Parameter(initializers.get_initializer(initialW))
            if in_channels is not None:
                self._initialize_params(in_channels)
            if nobias:
                self.b = None
            else:
                bias = initializers.get_initializer(0 if initial_bias is None else initial_bias)
                self.b = Parameter(bias, out_channels)
        self.in_channels = in_channels

    def _initialize_params(self, in_channels: int) -> None:
        if self.out_channels % self.groups or in_channels % self.groups:
            raise ValueError(
                f"groups must divide the numbers of channels, got {self.groups} groups of {in_channels} input and "
                f"{self.out_channels} output channels"
            )
        first, second = (in_channels, self.out_channels) if self.transposed else (self.out_channels, in_channels)
        self.W.initialize((first, second // self.groups, *as_tuple(self.ksize, self._ndim)))

    def forward(self, x: VariableLike) -> Variable:
        """[B, out_channels, ...] from x [B, in_channels, ...]."""
        if self.W.array is None:
            self._initialize_params(x.shape[1])
        return self._convolve(x)

    def _convolve(self, x: VariableLike) -> Variable:
        raise NotImplementedError


class ConvolutionND(ConvolutionBase):
    """Convolution over `ndim` axes; see `functions.convolution_nd` for `stride`, `pad`, `cover_all`, `dilate` and `groups`.

    `ConvolutionND(ndim, n, k)` is `ConvolutionND(ndim, None, n, k)`.
    """

    def __init__(
        self,
        ndim: int,
        in_channels: int | None,
        out_channels: int,
        ksize: Ints | None = None,
        stride: Ints = 1,
        pad: Ints = 0,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
        cover_all: bool = False,
        dilate: Ints = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(ndim, in_channels, out_channels, ksize, nobias, initialW, initial_bias, groups)
        self.ksize = as_tuple(self.ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.cover_all = cover_all
        self.dilate = as_tuple(dilate, ndim)

    @classmethod
    def from_params(
        cls,
        W: VariableLike,
        b: VariableLike = None,
        stride: Ints = 1,
        pad: Ints = 0,
        nobias: bool = False,
        **kwargs: Any,
    ) -> "ConvolutionND":
        """A link with copies of existing arrays or Variables (ValueError if their sizes differ)."""
        cover_all, dilate, groups = argument.parse_kwargs(kwargs, ("cover_all", False), ("dilate", 1), ("groups", 1))
        out_channels, in_channels, *ksize = W.shape
        if b is not None and b.size != out_channels:
            raise ValueError(f"`out_channels` does not match the size of `b`: {out_channels} != {b.size}")
        arrays = {"initialW": as_array(W), "initial_bias": as_array(b)}
        rest = {"cover_all": cover_all, "dilate": dilate, "groups": groups, **arrays}
        return cls(len(ksize), in_channels * groups, out_channels, ksize, stride, pad, nobias, **rest)

    def _convolve(self, x: VariableLike) -> Variable:
        options: dict[str, Any] = {"cover_all": self.cover_all, "dilate": self.dilate, "groups": self.groups}
        return convolution_nd(x, self.W, self.b, self.stride, self.pad, **options)


class DeconvolutionND(ConvolutionBase):
    """Transposed convolution over `ndim` axes; see `functions.deconvolution_nd` for the arguments."""

    transposed = True

    def __init__(
        self,
        ndim: int,
        in_channels: int | None,
        out_channels: int,
        ksize: Ints | None = None,
        stride: Ints = 1,
        pad: Ints = 0,
        nobias: bool = False,
        outsize: Sequence[int] | None = None,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
        dilate: Ints = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(ndim, in_channels, out_channels, ksize, nobias, initialW, initial_bias, groups)
        self.ksize = as_tuple(self.ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.outsize = outsize
        self.dilate = as_tuple(dilate, ndim)

    def _convolve(self, x: VariableLike) -> Variable:
        options: dict[str, Any] = {"outsize": self.outsize, "dilate": self.dilate, "groups": self.groups}
        return deconvolution_nd(x, self.W, self.b, self.stride, self.pad, **options)


class Convolution1D(ConvolutionND):
    """Convolution over one axis; with the arguments of `ConvolutionND` except `ndim`."""

    __init__ = partialmethod(ConvolutionND.__init__, 1)


class Convolution3D(ConvolutionND):
    """Convolution over three axes; with the arguments of `ConvolutionND` except `ndim`."""

    __init__ = partialmethod(ConvolutionND.__init__, 3)


class Deconvolution1D(DeconvolutionND):
    """Transposed convolution over one axis; with the arguments of `DeconvolutionND` except `ndim`."""

    __init__ = partialmethod(DeconvolutionND.__init__, 1)


class Deconvolution3D(DeconvolutionND):
    """Transposed convolution over three axes; with the arguments of `DeconvolutionND` except `ndim`."""

    __init__ = partialmethod(DeconvolutionND.__init__, 3)


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
        yield from ()  # `str(link)` shows no values (Chainer 7.8.1, recorded)


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
    """A convolution of each channel separately, with filters W [M, C, rows, columns].

    Args:
        in_channels: C; None: taken from the first input.
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
        initialW = initializers.HeNormal(1 / math.sqrt(2)) if initialW is None else initialW
        with self.init_scope():
            self.W = Parameter(initializers.get_initializer(initialW))
            self.b = (
                None if nobias else Parameter(initializers.get_initializer(0 if initial_bias is None else initial_bias))
            )
        if in_channels is not None:
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:
        self.W.initialize((self.channel_multiplier, in_channels, *as_pair(self.ksize)))
        if self.b is not None:
            self.b.initialize(self.channel_multiplier * in_channels)

    def forward(self, x: VariableLike) -> Variable:
        """The results [B, M * C, rows, columns] for x [B, C, rows, columns], channel by channel."""
        if self.W.array is None:
            self._initialize_params(x.shape[1])
        found: Variable = depthwise_convolution_2d(x, self.W, self.b, self.stride, self.pad)
        return found
