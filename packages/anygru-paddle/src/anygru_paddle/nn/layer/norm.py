"""Normalization layers."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from ...base.param_attr import ParamAttr
from ...framework.dtype import as_dtype
from ...tensor.operation import plain, wrap
from ...tensor.tensor import Tensor
from ..functional import norm as F
from ..functional.operators import activation_of
from ..initializer.initializer import Constant, Initializer, Normal
from ..utils.spectral_norm_hook import as_matrix, as_weight, iterate
from .layers import KeepsPrecision, Layer

__all__ = [
    "BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "GroupNorm", "InstanceNorm1D", "InstanceNorm2D",
    "InstanceNorm3D", "LayerNorm", "SpectralNorm", "SyncBatchNorm",
]  # fmt: skip

Attr = ParamAttr | Initializer | str | bool | None
# The layers of one and three dimensions have, and print, another format after their first call (Paddle 2.6.2, recorded).
_AFTER_A_CALL = {"NC": "NCHW", "NCL": "NCHW", "NLC": "NHWC", "NCDHW": "NCHW", "NDHWC": "NHWC"}


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
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        weight_attr: Attr = None,
        bias_attr: Attr = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon = epsilon
        count = 1
        for length in self._normalized_shape:
            count *= length
        # One axis for any shape (recorded, 2.6.2), where torch keeps the shape.
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
        weight_attr: Attr = None,
        bias_attr: Attr = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        if self.formats and data_format not in self.formats:
            raise ValueError(f"expected one of {', '.join(self.formats)} for data_format input, but got {data_format}")
        self._num_features = num_features
        self._use_global_stats = use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, dtype, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, dtype, is_bias=True)
        # Parameters and not buffers, as in Paddle: `parameters()` lists them.
        self._mean = self.create_parameter([num_features], _kept(0.0), dtype)
        self._variance = self.create_parameter([num_features], _kept(1.0), dtype)
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
        self._data_format = _AFTER_A_CALL.get(self._data_format, self._data_format)
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


def _batch_norm(dims: int, formats: tuple[str, ...], first: str) -> type[_BatchNormBase]:
    """The layer for inputs of `dims` axes after batch and channels; `first` is the format by default."""

    class BatchNormOfRank(_BatchNormBase):
        def __init__(
            self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-5, weight_attr: Attr = None,
            bias_attr: Attr = None, data_format: str = first, use_global_stats: bool | None = None, name: str | None = None,
        ) -> None:  # fmt: skip
            _BatchNormBase.__init__(
                self, num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name
            )

    BatchNormOfRank.__name__ = BatchNormOfRank.__qualname__ = f"BatchNorm{dims}D"
    BatchNormOfRank.__doc__ = f"Batch normalization of inputs in one of the formats {', '.join(formats)}."
    BatchNormOfRank.ranks, BatchNormOfRank.formats = ((2, 3) if dims == 1 else (dims + 2,)), formats
    return BatchNormOfRank


BatchNorm1D = _batch_norm(1, ("NC", "NCL", "NLC"), "NCL")
BatchNorm2D = _batch_norm(2, ("NCHW", "NHWC"), "NCHW")
BatchNorm3D = _batch_norm(3, ("NCDHW", "NDHWC"), "NCDHW")


class SyncBatchNorm(_BatchNormBase):
    """Batch normalization by the statistics of all processes' batches; only one process is covered."""

    def __init__(
        self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-5, weight_attr: Attr = None,
        bias_attr: Attr = None, data_format: str = "NCHW", name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name)

    def forward(self, input: torch.Tensor) -> Tensor:
        """The normalized input. Raises NotImplementedError for training in several processes."""
        if self.training and torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1:
            raise NotImplementedError(
                "SyncBatchNorm: training in several processes is not covered; use torch.nn.SyncBatchNorm"
            )
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """The layer with a `SyncBatchNorm` with the same parameters instead of every batch normalization."""
        children: list[tuple[str, Any]] = list(layer.named_children())
        for name, part in children:
            setattr(layer, name, cls.convert_sync_batchnorm(part))
        if not isinstance(layer, _BatchNormBase) or isinstance(layer, cls):
            return layer
        made = cls(
            layer._num_features, layer._momentum, layer._epsilon, data_format=layer._data_format, name=layer._name
        )
        made.weight, made.bias, made._mean, made._variance = layer.weight, layer.bias, layer._mean, layer._variance
        return made


class BatchNorm(_BatchNormBase):
    """act of batch normalization, with the argument names of Paddle 1.x."""

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        param_attr: Attr = None,
        bias_attr: Attr = None,
        dtype: object = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        # False is "not given" in this class alone: evaluation goes by the running statistics (recorded, 2.6.2).
        given = use_global_stats or None
        wide = "float32" if as_dtype(dtype).spelling == "float16" else dtype  # as in Paddle 2.6.2 (read)
        super().__init__(num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, given, dtype=wide)
        self._act, self._trainable_statistics = act, trainable_statistics

    def forward(self, input: torch.Tensor) -> Tensor:
        """The normalized input, and the activation."""
        # `is_test` changes nothing in Paddle 2.6.2's dynamic graphs (recorded); `eval()` does.
        by_batch = self.training or self._trainable_statistics
        out = F.batch_norm(
            input, self._mean, self._variance, self.weight, self.bias, by_batch, self._momentum, self._epsilon,
            self._data_format, self._use_global_stats,
        )  # fmt: skip
        # Looked up here, as in Paddle 2.6.2 (recorded): subclasses with another forward store other values there.
        return activation_of(self._act)(out)

    def extra_repr(self) -> str:
        """Nothing, as in Paddle."""
        return ""


class GroupNorm(Layer):
    """Normalization of the channels [N, C, ...] in `num_groups` groups."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-5,
        weight_attr: Attr = None,
        bias_attr: Attr = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if data_format not in ("NCHW", "NHWC"):
            raise ValueError(f"unsupported data layout: {data_format}")
        self._num_groups, self._num_channels, self._epsilon = num_groups, num_channels, epsilon
        self._data_format = data_format
        self.weight = self._made(weight_attr, default_initializer=Constant(1.0))
        self.bias = self._made(bias_attr, is_bias=True)

    def _made(self, attr: Attr, **options: Any) -> Tensor:
        """A parameter, also for False, and trained unless its learning rate is 0: `trainable` does not count (2.6.2)."""
        parameter = self.create_parameter([self._num_channels], None if attr is False else attr, **options)
        parameter.stop_gradient = attr is False or getattr(attr, "learning_rate", 1.0) == 0.0
        return parameter

    def forward(self, input: torch.Tensor) -> Tensor:
        """The normalized input."""
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class _InstanceNorm(Layer):
    """Normalization of every channel of every sample by itself."""

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Attr = None,
        bias_attr: Attr = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise AssertionError("weight_attr and bias_attr must be set to False at the same time in InstanceNorm")
        self._num_features, self._epsilon, self._momentum = num_features, epsilon, momentum
        self._data_format = data_format
        if weight_attr is False:
            self.scale = self.bias = None
        else:
            self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
            self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input: torch.Tensor) -> Tensor:
        """The normalized input.

        Raises:
            ValueError: for another number of axes.
        """
        if input.ndim not in self.ranks:
            raise ValueError(
                f"expected {' or '.join(f'{rank}D' for rank in self.ranks)} input (got {input.ndim}D input)"
            )
        # The momentum and the format are kept and have no effect, as in 2.6.2 (recorded).
        return F.instance_norm(input, weight=self.scale, bias=self.bias, eps=self._epsilon)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNorm):
    """Instance normalization of [N, C, L]."""

    ranks = (2, 3)


class InstanceNorm2D(_InstanceNorm):
    """Instance normalization of [N, C, H, W]."""

    ranks = (4,)


class InstanceNorm3D(_InstanceNorm):
    """Instance normalization of [N, C, D, H, W]."""

    ranks = (5,)


class SpectralNorm(Layer):
    """A weight over its largest singular value; unlike the hook, the layer keeps the vectors that it started from."""

    weight_u: Tensor
    weight_v: Tensor

    def __init__(
        self,
        weight_shape: Sequence[int],
        dim: int = 0,
        power_iters: int = 1,
        eps: float = 1e-12,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        self._dim, self._power_iters, self._epsilon = dim, power_iters, eps
        rows = weight_shape[dim]
        for end, size in (("_u", rows), ("_v", math.prod(weight_shape) // rows)):
            vector = self.create_parameter([size], dtype=dtype, default_initializer=Normal(0.0, 1.0))
            vector.stop_gradient = True
            self.add_parameter("weight" + end, vector)

    def forward(self, x: torch.Tensor) -> Tensor:
        """`x` over its largest singular value.

        The gradient follows Paddle 2.6.2 (recorded; its CPU and CUDA kernels share the code) and is not the derivative: it
        uses the sum of the normalized weight instead of the sum of its product with the gradient. `nn.utils.spectral_norm` has
        the derivative, as in Paddle.
        """
        weight = plain(x)
        matrix = as_matrix(weight.detach(), self._dim)
        u, v = (plain(vector) for vector in (self.weight_u, self.weight_v))
        u, v = iterate(matrix, u, v, self._power_iters, self._epsilon)
        value = torch.dot(u, matrix @ v)
        out = weight.detach() / value
        slope = as_weight(1 - torch.outer(u, v) * out.sum(), weight, self._dim) / value
        # The second term is zeros, and carries the gradient.
        return wrap(out + (weight - weight.detach()) * slope)
