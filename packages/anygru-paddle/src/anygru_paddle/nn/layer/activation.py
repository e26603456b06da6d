"""Activation functions as layers."""

from collections.abc import Callable
from typing import Any

import torch

from ...tensor.tensor import Tensor
from ..functional import activation as F
from ..initializer.initializer import Constant
from .layers import Layer
from .of_function import FunctionLayer, layer_of

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Maxout", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "Sigmoid", "Silu", "Softmax",
    "Softplus", "Softshrink", "Softsign", "Swish", "Tanh", "Tanhshrink", "ThresholdedReLU",
]  # fmt: skip


def _layer(name: str, function: Callable[..., Any], **options: Any) -> type[FunctionLayer]:
    return layer_of(name, function, "_{}", " ".join(options), __name__, **options)


CELU = _layer("CELU", F.celu, alpha=1.0)
ELU = _layer("ELU", F.elu, alpha=1.0)
GELU = _layer("GELU", F.gelu, approximate=False)
GLU = _layer("GLU", F.glu, axis=-1)
Hardshrink = _layer("Hardshrink", F.hardshrink, threshold=0.5)
Hardsigmoid = _layer("Hardsigmoid", F.hardsigmoid)
Hardswish = _layer("Hardswish", F.hardswish)
Hardtanh = _layer("Hardtanh", F.hardtanh, min=-1.0, max=1.0)
LeakyReLU = _layer("LeakyReLU", F.leaky_relu, negative_slope=0.01)
LogSigmoid = _layer("LogSigmoid", F.log_sigmoid)
LogSoftmax = _layer("LogSoftmax", F.log_softmax, axis=-1)
Maxout = _layer("Maxout", F.maxout, groups=..., axis=1)
Mish = _layer("Mish", F.mish)
ReLU = _layer("ReLU", F.relu)
ReLU6 = _layer("ReLU6", F.relu6)
SELU = _layer("SELU", F.selu, scale=1.0507009873554805, alpha=1.6732632423543772)
Sigmoid = _layer("Sigmoid", F.sigmoid)
Silu = _layer("Silu", F.silu)
Softmax = _layer("Softmax", F.softmax, axis=-1)
Softplus = _layer("Softplus", F.softplus, beta=1, threshold=20)
Softshrink = _layer("Softshrink", F.softshrink, threshold=0.5)
Softsign = _layer("Softsign", F.softsign)
Swish = _layer("Swish", F.swish)
Tanh = _layer("Tanh", F.tanh)
Tanhshrink = _layer("Tanhshrink", F.tanhshrink)
ThresholdedReLU = _layer("ThresholdedReLU", F.thresholded_relu, threshold=1.0)


class RReLU(layer_of("RReLU", F.rrelu, "_{}", "lower upper", __name__, lower=1 / 8, upper=1 / 3)):  # type: ignore[misc]
    """`rrelu` as a layer; it draws slopes in training."""

    def extra_repr(self) -> str:
        """The bounds, and whether it draws."""
        return f"{super().extra_repr()}, training={self.training}, dtype={self._dtype}"


class PReLU(Layer):
    """x, or weight * x below 0, with a weight that is learnt."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_parameters, self._init, self._data_format, self._name = num_parameters, init, data_format, name
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: torch.Tensor) -> Tensor:
        """The function of x."""
        return F.prelu(x, self._weight, self._data_format)

    def extra_repr(self) -> str:
        """The options."""
        text = (
            f"num_parameters={self._num_parameters}, data_format={self._data_format}, init={self._init}, "
            f"dtype={self._dtype}"
        )
        return text + (f", name={self._name}" if self._name else "")
