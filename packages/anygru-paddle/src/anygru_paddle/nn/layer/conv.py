"""Convolution layers."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch

from ...base.param_attr import ParamAttr
from ...tensor.tensor import Tensor
from ..functional import common, conv
from ..functional.window import CHANNELS_LAST, Lengths, Padding, lengths, margins
from ..initializer.initializer import Initializer, Normal
from .layers import Layer

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]

Attr = ParamAttr | Initializer | str | bool | None
_FORMATS = ("NCL", "NCHW", "NCDHW")
_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Layer):
    """The base of all convolutions; the weight is [out, in / groups, ...window]."""

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False

    def _build(
        self,
        channels: tuple[int, int],
        kernel_size: Lengths,
        stride: Lengths,
        padding: Padding,
        dilation: Lengths,
        groups: int,
        attrs: tuple[Attr, Attr],
        data_format: str,
        padding_mode: str = "zeros",
        output_padding: Lengths = 0,
    ) -> None:
        Layer.__init__(self)
        self._in_channels, self._out_channels = channels
        weight_attr, bias_attr = attrs
        if weight_attr is False:
            raise AssertionError("weight_attr should not be False in Conv.")
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{padding_mode}'")
        if padding_mode != "zeros" and not isinstance(padding, int):
            raise TypeError("when padding_mode in ['reflect', 'replicate', 'circular'], type of padding must be int")
        if data_format not in (*_FORMATS, *CHANNELS_LAST):
            raise ValueError(f"data_format must be one of {(*_FORMATS, *CHANNELS_LAST)}, but got '{data_format}'")
        if not self.transposed and channels[0] % groups:
            raise ValueError("in_channels must be divisible by groups.")
        self._kernel_size = lengths(kernel_size, self.dims, "kernel_size")
        self._stride = lengths(stride, self.dims, "stride")
        self._dilation = lengths(dilation, self.dims, "dilation")
        if self.dims > 1:  # raises for what is no padding; Conv1D finds out in its first call, as in Paddle
            margins(padding, [1] * self.dims, self._kernel_size, self._stride, data_format in CHANNELS_LAST)
        self._padding, self._padding_mode, self.output_padding = padding, padding_mode, output_padding
        self._groups, self._data_format = groups, data_format
        outer = [channels[0], channels[1] // groups] if self.transposed else [channels[1], channels[0] // groups]
        first = None if self.transposed else Normal(0.0, math.sqrt(2.0 / (math.prod(self._kernel_size) * channels[0])))
        self.weight = self.create_parameter([*outer, *self._kernel_size], weight_attr, default_initializer=first)
        self.bias = self.create_parameter([channels[1]], bias_attr, is_bias=True)

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


def _plain(dims: int) -> type[_Convolution]:
    function: Callable[..., Any] = getattr(conv, f"conv{dims}d")

    class Convolution(_Convolution):
        def __init__(
            self,
            in_channels: int,
            out_channels: int,
            kernel_size: Lengths,
            stride: Lengths = 1,
            padding: Padding = 0,
            dilation: Lengths = 1,
            groups: int = 1,
            padding_mode: str = "zeros",
            weight_attr: Attr = None,
            bias_attr: Attr = None,
            data_format: str = _FORMATS[dims - 1],
        ) -> None:
            self._build(
                (in_channels, out_channels), kernel_size, stride, padding, dilation, groups, (weight_attr, bias_attr),
                data_format, padding_mode,
            )  # fmt: skip

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

        def _run(self, x: torch.Tensor, output_size: Lengths | None) -> Tensor:
            return function(
                x, self.weight, self.bias, self._stride, self._padding,
                output_padding=0 if output_size is not None else self.output_padding, dilation=self._dilation,
                groups=self._groups, output_size=output_size, data_format=self._data_format,
            )  # fmt: skip

        def forward(self, x: torch.Tensor, output_size: Lengths | None = None) -> Tensor:
            """The transposed convolution, of `output_size` where several sizes are possible."""
            return self._run(x, output_size)

    def dilation_first(
        self: Transposed, in_channels: int, out_channels: int, kernel_size: Lengths, stride: Lengths = 1, padding: Padding = 0,
        output_padding: Lengths = 0, dilation: Lengths = 1, groups: int = 1, weight_attr: Attr = None, bias_attr: Attr = None,
        data_format: str = _FORMATS[dims - 1],
    ) -> None:  # fmt: skip
        attrs, channels = (weight_attr, bias_attr), (in_channels, out_channels)
        self._build(
            channels, kernel_size, stride, padding, dilation, groups, attrs, data_format, "zeros", output_padding
        )

    def groups_first(
        self: Transposed, in_channels: int, out_channels: int, kernel_size: Lengths, stride: Lengths = 1, padding: Padding = 0,
        output_padding: Lengths = 0, groups: int = 1, dilation: Lengths = 1, weight_attr: Attr = None, bias_attr: Attr = None,
        data_format: str = _FORMATS[dims - 1],
    ) -> None:  # fmt: skip
        dilation_first(
            self, in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, weight_attr,
            bias_attr, data_format,
        )  # fmt: skip

    Transposed.__init__ = groups_first if dims == 1 else dilation_first  # type: ignore[assignment, method-assign]
    return _named(Transposed, f"Conv{dims}DTranspose", dims)


def _named(layer: type[_Convolution], name: str, dims: int) -> type[_Convolution]:
    layer.__name__ = layer.__qualname__ = name
    layer.__doc__ = f"`paddle.nn.functional.conv{dims}d{'_transpose' if layer.transposed else ''}` with its parameters."
    layer.dims = dims
    return layer


Conv1D, Conv2D, Conv3D = (_plain(dims) for dims in (1, 2, 3))
Conv1DTranspose, Conv2DTranspose, Conv3DTranspose = (_transposed(dims) for dims in (1, 2, 3))
