"""Conv2D, Conv2DTranspose, Pool2D and BatchNorm with the argument names of Paddle 1.x. Source: Paddle's pages of 1.8."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from ...base.arguments import initializer
from ...nn.functional.operators import activation_of
from ...nn.layer import conv
from ...nn.layer.layers import Layer
from ...nn.layer.norm import BatchNorm
from ...tensor.tensor import Tensor
from ..layers.functions import pool2d

__all__ = ["BatchNorm", "Conv2D", "Conv2DTranspose", "Pool2D"]

Lengths = int | Sequence[int]
_SIZES: dict[str, Any] = {"num_channels": ..., "num_filters": ..., "filter_size": ...}
_OPTIONS: dict[str, Any] = {
    "groups": None, "param_attr": None, "bias_attr": None, "use_cudnn": True, "act": None, "dtype": "float32",
}  # fmt: skip


class Conv2D(conv.Conv2D):  # type: ignore[misc, valid-type]
    """act of `paddle.nn.Conv2D`."""

    def _take(self, given: SimpleNamespace) -> None:
        conv.Conv2D.__init__(  # type: ignore[call-arg]
            self, given.num_channels, given.num_filters, given.filter_size, given.stride, given.padding, given.dilation,
            given.groups or 1, "zeros", given.param_attr, given.bias_attr,
        )  # fmt: skip
        self._act = given.act

    __init__ = initializer(_take, **_SIZES, stride=1, padding=0, dilation=1, **_OPTIONS)

    def forward(self, input: torch.Tensor) -> Tensor:
        """The convolution, and the activation."""
        return activation_of(self._act)(super().forward(input))


class Conv2DTranspose(conv.Conv2DTranspose):  # type: ignore[misc, valid-type]
    """act of `paddle.nn.Conv2DTranspose`."""

    def _take(self, given: SimpleNamespace) -> None:
        conv.Conv2DTranspose.__init__(  # type: ignore[call-arg]
            self, given.num_channels, given.num_filters, given.filter_size, given.stride, given.padding, 0, given.dilation,
            given.groups or 1, given.param_attr, given.bias_attr,
        )  # fmt: skip
        self._output_size, self._act = given.output_size, given.act

    __init__ = initializer(_take, **_SIZES, output_size=None, padding=0, stride=1, dilation=1, **_OPTIONS)

    def forward(self, input: torch.Tensor) -> Tensor:
        """The transposed convolution, and the activation."""
        return activation_of(self._act)(super().forward(input, self._output_size))


class Pool2D(Layer):
    """The largest element ('max') or the mean ('avg') of windows of images, or of whole images."""

    def __init__(
        self,
        pool_size: Lengths = -1,
        pool_type: str = "max",
        pool_stride: Lengths = 1,
        pool_padding: Lengths = 0,
        global_pooling: bool = False,
        use_cudnn: bool = True,
        ceil_mode: bool = False,
        exclusive: bool = True,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        if pool_type not in ("max", "avg"):
            raise ValueError(f"Unknown pool_type: '{pool_type}'. It can only be 'max' or 'avg'.")
        if not global_pooling and pool_size == -1:
            raise ValueError("When the global_pooling is False, pool_size must be passed and be a valid value.")
        self._arguments = (
            pool_size, pool_type, pool_stride, pool_padding, global_pooling, use_cudnn, ceil_mode, None, exclusive,
            data_format,
        )  # fmt: skip

    def forward(self, input: torch.Tensor) -> Tensor:
        """The pooled images."""
        return pool2d(input, *self._arguments)
