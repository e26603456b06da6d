"""Activation functions as layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from ...tensor.tensor import Tensor
from ..functional import activation as F
from ..initializer.initializer import Constant
from .layers import Layer

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Maxout", "Mish", "PReLU", "ReLU", "ReLU6", "SELU", "Sigmoid", "Silu",
    "Softmax", "Softplus", "Softshrink", "Softsign", "Swish", "Tanh", "Tanhshrink", "ThresholdedReLU",
]  # fmt: skip


class _Activation(Layer):
    """A function of `paddle.nn.functional` with its options fixed; `options` holds their names and defaults, in order."""

    function: ClassVar[Callable[..., Any]]
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names = (*self.options, "name")
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}() takes at most {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in given:
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {key!r}")
            given[key] = value
        self._values = {name: given.get(name, default) for name, default in self.options.items()}
        self._name = given.get("name")
        for name, value in self._values.items():
            if value is ...:
                raise TypeError(f"{type(self).__name__}() missing 1 required argument: {name!r}")
            setattr(self, "_" + name, value)

    def forward(self, x: torch.Tensor) -> Tensor:
        """The function of x."""
        return type(self).function(x, **self._values)

    def extra_repr(self) -> str:
        """The options."""
        parts = [f"{name}={value}" for name, value in self._values.items()]
        return ", ".join(parts + ([f"name={self._name}"] if self._name else []))


def _layer(name: str, function: Callable[..., Any], **options: Any) -> type[_Activation]:
    return type(
        name,
        (_Activation,),
        {
            "function": staticmethod(function),
            "options": options,
            "__doc__": f"`paddle.nn.functional.{function.__name__}` as a layer.",
            "__module__": __name__,
        },
    )


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
