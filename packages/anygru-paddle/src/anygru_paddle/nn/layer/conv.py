"""Convolution layers."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import torch

from ...base.arguments import initializer
from ...tensor.tensor import Tensor
from ..functional import common, conv
from ..functional.window import CHANNELS_LAST, Lengths, lengths, margins
from ..initializer.initializer import Normal
from .layers import Layer

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]

_FORMATS = ("NCL", "NCHW", "NCDHW")
_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Layer):
    """The base of all convolutions; the weight is [out, in / groups, ...window]."""

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False

    def _build(self, given: SimpleNamespace) -> None:
        """`__init__`, of the arguments of the class."""
        Layer.__init__(self)
        channels, groups, data_format = (given.in_channels, given.out_channels), given.groups, given.data_format
        mode, formats = getattr(given, "padding_mode", "zeros"), (*_FORMATS, *CHANNELS_LAST)
        self._in_channels, self._out_channels = channels
        if given.weight_attr is False:
            raise AssertionError("weight_attr should not be False in Conv.")
        if mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{mode}'")
        if mode != "zeros" and not isinstance(given.padding, int):
            raise TypeError("when padding_mode in ['reflect', 'replicate', 'circular'], type of padding must be int")
        if data_format not in formats:
            raise ValueError(f"data_format must be one of {formats}, but got '{data_format}'")
        if not self.transposed and channels[0] % groups:
            raise ValueError("in_channels must be divisible by groups.")
        self._kernel_size = lengths(given.kernel_size, self.dims, "kernel_size")
        self._stride = lengths(given.stride, self.dims, "stride")
        self._dilation = lengths(given.dilation, self.dims, "dilation")
        if self.dims > 1:  # raises unless it is a padding; Conv1D finds out in its first call, as in Paddle
            margins(given.padding, [1] * self.dims, self._kernel_size, self._stride, data_format in CHANNELS_LAST)
        self._padding, self._padding_mode = given.padding, mode
        self.output_padding = getattr(given, "output_padding", 0)
        self._groups, self._data_format = groups, data_format
        outer = [channels[0], channels[1] // groups] if self.transposed else [channels[1], channels[0] // groups]
        # Kaiming's normal numbers, and zeros for the bias; torch draws both evenly (recorded, 2.6.2).
        first = None if self.transposed else Normal(0.0, math.sqrt(2.0 / (math.prod(self._kernel_size) * channels[0])))
        self.weight = self.create_parameter([*outer, *self._kernel_size], given.weight_attr, default_initializer=first)
        self.bias = self.create_parameter([channels[1]], given.bias_attr, is_bias=True)

    def extra_repr(self) -> str:
        """The sizes and the options that differ from the defaults."""
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        ones = [1] * self.dims
        for name, value, default in (
            ("stride", self._stride, ones),
            ("padding", self._padding, 0),
            ("padding_mode", self._padding_mode, "zeros"),
            ("output_padding", self.output_padding, 0),
            ("dilation", self._dilation, ones),
            ("groups", self._groups, 1),
        ):
            text += f", {name}={value}" if value != default else ""
        return f"{text}, data_format={self._data_format}"


def _initializer(dims: int, options: str) -> Callable[..., None]:
    """`__init__`: the arguments that all take and, between padding and attributes, the arguments named in `options`."""
    defaults = {"padding_mode": "zeros", "output_padding": 0, "dilation": 1, "groups": 1}
    needed: dict[str, Any] = {"in_channels": ..., "out_channels": ..., "kernel_size": ...}
    own = {name: defaults[name] for name in options.split()}
    attrs = {"weight_attr": None, "bias_attr": None, "data_format": _FORMATS[dims - 1]}
    return initializer(_Convolution._build, **needed, stride=1, padding=0, **own, **attrs)


def _plain(dims: int) -> type[_Convolution]:
    function: Callable[..., Any] = getattr(conv, f"conv{dims}d")

    class Convolution(_Convolution):
        __init__ = _initializer(dims, "dilation groups padding_mode")

        def forward(self, x: torch.Tensor) -> Tensor:
            """The convolution."""
            padding = self._padding
            if self._padding_mode != "zeros":
                assert isinstance(padding, int)
                x = common.pad(x, [padding] * (2 * dims), self._padding_mode, data_format=self._data_format)
                padding = 0
            return function(
                x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
            )

    return _named(Convolution, f"Conv{dims}D", dims)


def _transposed(dims: int) -> type[_Convolution]:
    function: Callable[..., Any] = getattr(conv, f"conv{dims}d_transpose")

    class Transposed(_Convolution):
        transposed = True
        __init__ = _initializer(dims, "output_padding " + ("groups dilation" if dims == 1 else "dilation groups"))

        def _run(self, x: torch.Tensor, output_size: Lengths | None) -> Tensor:
            return function(
                x, self.weight, self.bias, self._stride, self._padding,
                output_padding=0 if output_size is not None else self.output_padding, dilation=self._dilation,
                groups=self._groups, output_size=output_size, data_format=self._data_format,
            )  # fmt: skip

        def forward(self, x: torch.Tensor, output_size: Lengths | None = None) -> Tensor:
            """The transposed convolution, of `output_size` where several sizes are possible."""
            return self._run(x, output_size)

    return _named(Transposed, f"Conv{dims}DTranspose", dims)


def _named(layer: type[_Convolution], name: str, dims: int) -> type[_Convolution]:
    layer.__name__ = layer.__qualname__ = name
    layer.__doc__ = f"`paddle.nn.functional.conv{dims}d{'_transpose' if layer.transposed else ''}` with its parameters."
    layer.dims = dims
    return layer


Conv1D, Conv2D, Conv3D = (_plain(dims) for dims in (1, 2, 3))
Conv1DTranspose, Conv2DTranspose, Conv3DTranspose = (_transposed(dims) for dims in (1, 2, 3))
