"""Convolutions and transposed convolutions over any number of axes."""

from collections.abc import Sequence
from functools import partialmethod
from typing import Any

from ...functions.convolutions import convolution_nd, deconvolution_nd
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, VariableLike
from ...utils import argument
from ...utils.conv_nd import Ints, as_tuple
from ...variable import Parameter, Variable, as_array

__all__ = [
    "Convolution1D",
    "Convolution3D",
    "ConvolutionND",
    "Deconvolution1D",
    "Deconvolution3D",
    "DeconvolutionND",
]


class ConvolutionBase(Link):
    """The base of all convolutions: filters W [out_channels, in_channels / groups, k1, ...] and biases b [out_channels].

    A transposed one has W [in_channels, out_channels / groups, k1, ...].

    Args:
        ndim: number of axes.
        in_channels: None to take it from the first input; it may be left out if `ksize` is then the second argument.
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
            self.W = Parameter(fillers.get_initializer(initialW))
            if in_channels is not None:
                self._initialize_params(in_channels)
            if nobias:
                self.b = None
            else:
                bias = fillers.get_initializer(0 if initial_bias is None else initial_bias)
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
    """Convolution over one axis; the arguments are those of `ConvolutionND` without `ndim`."""

    __init__ = partialmethod(ConvolutionND.__init__, 1)


class Convolution3D(ConvolutionND):
    """Convolution over three axes; the arguments are those of `ConvolutionND` without `ndim`."""

    __init__ = partialmethod(ConvolutionND.__init__, 3)


class Deconvolution1D(DeconvolutionND):
    """Transposed convolution over one axis; the arguments are those of `DeconvolutionND` without `ndim`."""

    __init__ = partialmethod(DeconvolutionND.__init__, 1)


class Deconvolution3D(DeconvolutionND):
    """Transposed convolution over three axes; the arguments are those of `DeconvolutionND` without `ndim`."""

    __init__ = partialmethod(DeconvolutionND.__init__, 3)
