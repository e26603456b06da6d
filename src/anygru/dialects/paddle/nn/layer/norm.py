"""Normalization layers."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ...base.param_attr import ParamAttr
from ...tensor.tensor import Tensor
from ..functional import norm as F
from ..initializer.initializer import Constant
from .layers import KeepsPrecision, Layer

__all__ = ["BatchNorm1D", "BatchNorm2D", "LayerNorm"]


class LayerNorm(Layer):
    """Normalization over the last axes.

    Args:
        normalized_shape: their lengths, a number for one.
        epsilon: added to the variance.
        weight_attr, bias_attr: attributes of the parameters; False leaves one out.
        name: kept for scripts.
    """

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon = epsilon
        count = 1
        for length in self._normalized_shape:
            count *= length
        self.weight = self.create_parameter([count], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([count], bias_attr, is_bias=True)

    def forward(self, input: torch.Tensor) -> Tensor:
        """The normalized input."""
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        """The shape and epsilon."""
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class _BatchNormBase(KeepsPrecision, Layer):
    """Normalization by the statistics of the batch in training, by the running ones in evaluation."""

    ranks: tuple[int, ...] = ()
    formats: tuple[str, ...] = ()

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if self.formats and data_format not in self.formats:
            raise ValueError(f"expected one of {', '.join(self.formats)} for data_format input, but got {data_format}")
        self._num_features = num_features
        self._use_global_stats = use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self._mean = self.create_parameter([num_features], _kept(0.0))
        self._variance = self.create_parameter([num_features], _kept(1.0))
        self._data_format = data_format
        self._momentum = momentum
        self._epsilon = epsilon
        self._name = name

    def forward(self, input: torch.Tensor) -> Tensor:
        """The normalized input; in training the running statistics are updated in place.

        Raises:
            ValueError: for another number of axes.
        """
        if self.ranks and input.ndim not in self.ranks:
            raise ValueError(
                f"expected {' or '.join(f'{rank}D' for rank in self.ranks)} input (got {input.ndim}D input)"
            )
        if self.training:
            warnings.warn("When training, we now always track global mean and variance.", UserWarning, stacklevel=2)
        return F.batch_norm(
            input, self._mean, self._variance, self.weight, self.bias, self.training, self._momentum, self._epsilon,
            self._data_format, self._use_global_stats,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The options."""
        text = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        if self._data_format != "NCHW":
            text += f", data_format={self._data_format}"
        return text + (f", name={self._name}" if self._name else "")


def _kept(value: float) -> ParamAttr:
    """Running statistics: parameters that are not trained."""
    return ParamAttr(initializer=Constant(value), trainable=False)


class BatchNorm1D(_BatchNormBase):
    """Batch normalization of [N, C] or [N, C, L] ([N, L, C] with data_format 'NLC')."""

    ranks = (2, 3)
    formats = ("NC", "NCL", "NLC")

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm2D(_BatchNormBase):
    """Batch normalization of [N, C, H, W] ([N, H, W, C] with data_format 'NHWC')."""

    ranks = (4,)
    formats = ("NCHW", "NHWC")
