"""Convolutions with a small network behind each."""

from collections.abc import Callable, Sequence
from typing import Any

from ...functions.activations import relu
from ...link import ChainList
from ...types import VariableLike
from ...utils import argument
from ...utils.conv_nd import Ints
from ...variable import Variable
from .convolution_2d import Convolution2D

__all__ = ["MLPConvolution2D"]


class MLPConvolution2D(ChainList):
    """A convolution of pictures, and convolutions with filters of size 1 behind it (Lin et al., 2013).

    Args:
        in_channels: None to take it from the first input. It may be left out.
        out_channels: the channels of each convolution.
        ksize, stride, pad: those of the first convolution.
        activation: between the convolutions.
        conv_init, bias_init: keywords, initializers of filters and biases.
    """

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Ints | None = None,
        stride: Ints = 1,
        pad: Ints = 0,
        activation: Callable[[Variable], Variable] = relu,
        *args: object,
        **kwargs: Any,
    ) -> None:
        message = (
            "wscale is not supported anymore. Use conv_init and bias_init argument to change the scale of initial "
        )
        message += "parameters."
        if args:
            raise TypeError(message)
        conv_init, bias_init = argument.parse_kwargs(kwargs, ("conv_init", None), ("bias_init", None), wscale=message)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        sizes: Sequence[int] = out_channels
        if len(sizes) == 0:
            raise AssertionError("out_channels must name the channels of one convolution at least")
        options = {"initialW": conv_init, "initial_bias": bias_init}
        first = Convolution2D(in_channels, sizes[0], ksize, stride, pad, **options)
        others = [Convolution2D(before, size, 1, **options) for before, size in zip(sizes, sizes[1:], strict=False)]
        super().__init__(first, *others)
        self.activation = activation

    def forward(self, x: VariableLike) -> Variable:
        """The result of the last convolution."""
        for link in self[:-1]:
            x = self.activation(link(x))
        return self[-1](x)
