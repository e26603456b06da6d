"""Conv2D, Conv2DTranspose, Pool2D and BatchNorm with the argument names of Paddle 1.x. Source: Paddle's pages of 1.8."""

from collections.abc import Sequence

import torch

from ...base.param_attr import ParamAttr
from ...nn.initializer.initializer import Initializer
from ...nn.layer import conv
from ...nn.layer.layers import Layer
from ...nn.layer.norm import BatchNorm
from ...tensor.tensor import Tensor
from ..layers.functions import pool2d
from ..layers.renamed import activation_of

__all__ = ["BatchNorm", "Conv2D", "Conv2DTranspose", "Pool2D"]

Attr = ParamAttr | Initializer | str | bool | None
Lengths = int | Sequence[int]


class Conv2D(conv.Conv2D):  # type: ignore[misc, valid-type]
    """act of `paddle.nn.Conv2D`."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Lengths,
        stride: Lengths = 1,
        padding: Lengths = 0,
        dilation: Lengths = 1,
        groups: int | None = None,
        param_attr: Attr = None,
        bias_attr: Attr = None,
        use_cudnn: bool = True,
        act: str | None = None,
        dtype: object = "float32",
    ) -> None:
        super().__init__(
            num_channels,
            num_filters,
            filter_size,
            stride,
            padding,
            dilation,
            groups or 1,
            "zeros",
            param_attr,
            bias_attr,
        )
        self._act = act

    def forward(self, input: torch.Tensor) -> Tensor:
        """The convolution, and the activation."""
        return activation_of(self._act)(super().forward(input))


class Conv2DTranspose(conv.Conv2DTranspose):  # type: ignore[misc, valid-type]
    """act of `paddle.nn.Conv2DTranspose`."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Lengths,
        output_size: Lengths | None = None,
        padding: Lengths = 0,
        stride: Lengths = 1,
        dilation: Lengths = 1,
        groups: int | None = None,
        param_attr: Attr = None,
        bias_attr: Attr = None,
        use_cudnn: bool = True,
        act: str | None = None,
        dtype: object = "float32",
    ) -> None:
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, 0, dilation, groups or 1, param_attr, bias_attr
        )
        self._output_size, self._act = output_size, act

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
