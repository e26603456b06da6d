"""A classifier around a predictor, a parameter as a link, and convolutions in a chain."""

from collections.abc import Callable, Sequence
from typing import Any

from .. import reporter, variable
from ..functions.activations import relu
from ..functions.arithmetic import identity
from ..functions.losses import accuracy, softmax_cross_entropy
from ..link import Chain, ChainList, Link
from ..types import NdArray, VariableLike
from ..utils import argument
from ..utils.helpers import Ints
from ..variable import Variable
from .convolutions import Convolution2D

__all__ = ["Classifier", "MLPConvolution2D", "Parameter"]


class Classifier(Chain):
    """Computes a predictor's loss and accuracy, reports them, and keeps them as `y`, `loss` and `accuracy`.

    Args:
        predictor: the link that predicts.
        lossfun: loss of (prediction, labels).
        accfun: accuracy of (prediction, labels).
        label_key: the argument of a call that holds the labels: an int for a position, a string for a keyword;
        otherwise
        TypeError.
    """

    compute_accuracy = True

    def __init__(
        self,
        predictor: Callable[..., Any],
        lossfun: Callable[..., Variable] = softmax_cross_entropy,
        accfun: Callable[..., Variable] = accuracy,
        label_key: int | str = -1,
    ) -> None:
        if not isinstance(label_key, (int, str)):
            raise TypeError(f"label_key must be int or str, but is {type(label_key)}")
        super().__init__()
        self.lossfun = lossfun
        self.accfun = accfun
        self.label_key = label_key
        self.y: Any = None
        self.loss: Any = None
        self.accuracy: Any = None
        with self.init_scope():
            self.predictor = predictor

    def forward(self, *args: Any, **kwargs: Any) -> Variable:
        """The loss; the arguments but the labels go to the predictor (ValueError if the labels are absent)."""
        if isinstance(self.label_key, int):
            if not -len(args) <= self.label_key < len(args):
                raise ValueError(f"Label key {self.label_key} is out of bounds")
            place = self.label_key % len(args)
            t, args = args[place], args[:place] + args[place + 1 :]
        else:
            if self.label_key not in kwargs:
                raise ValueError(f'Label key "{self.label_key}" is not found')
            t = kwargs.pop(self.label_key)
        self.y = self.loss = self.accuracy = None
        self.y = self.predictor(*args, **kwargs)
        self.loss = self.lossfun(self.y, t)
        reporter.report({"loss": self.loss}, self)
        if self.compute_accuracy:
            self.accuracy = self.accfun(self.y, t)
            reporter.report({"accuracy": self.accuracy}, self)
        return self.loss


class Parameter(Link):
    """A link that returns its only parameter W, initially a given array."""

    def __init__(self, array: NdArray) -> None:
        super().__init__()
        self.add_param("W", array.shape, dtype=array.dtype)
        self.W.array = array

    W: Any

    def forward(self, volatile: Any = None) -> variable.Variable:
        """A Variable with the values of W that passes its gradient to W."""
        return identity(self.W)


class MLPConvolution2D(ChainList):
    """A convolution of pictures, and convolutions with filters of size 1 behind it (Lin et al., 2013).

    Args:
        in_channels: optional; None: taken from the first input.
        out_channels: the channels of each convolution.
        ksize, stride, pad: of the first convolution.
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
