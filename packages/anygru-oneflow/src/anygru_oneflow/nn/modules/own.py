"""Layers that torch has not, or with other arguments."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from anygru.extend import centred

from ...framework.generator import Generator
from ...framework.indexing import quick_gelu
from ...framework.tensor import Parameter, Tensor
from ..functional import functions as F
from .adopted import adopt
from .edges import cutting_layer
from .module import Module

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "CosineSimilarity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "FusedBatchNorm1d",
    "FusedBatchNorm2d", "FusedBatchNorm3d", "GroupNorm", "Hardshrink", "Hardsigmoid", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "Linear", "PixelShuffle", "QuickGELU", "RMSLayerNorm", "Softshrink", "Softsign",
    "SyncBatchNorm",
]  # fmt: skip

# The arguments that a normalization prints.
NORM = "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, track_running_stats={track_running_stats}"


def _batch_norm(layer: type[torch.nn.Module]) -> Any:
    """A batch normalization of torch that also trains on a single value a channel, and takes global tensors."""
    adopted = adopt(layer, shown=NORM)

    def call(self: Any, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
        tracked = self.track_running_stats
        running: tuple[Any, Any] = (self.running_mean, self.running_var) if tracked else (None, None)
        training = self.training or not tracked
        return F.batch_norm(input, *running, self.weight, self.bias, training, self.momentum, self.eps)

    adopted.forward = call
    return adopted


BatchNorm1d = _batch_norm(torch.nn.BatchNorm1d)
BatchNorm2d = _batch_norm(torch.nn.BatchNorm2d)
BatchNorm3d = _batch_norm(torch.nn.BatchNorm3d)


def _convolution(axes: int) -> Any:
    """A convolution of torch that also takes negative padding."""
    adopted = adopt(getattr(torch.nn, f"Conv{axes}d"))
    make, convolve = _with_groups(adopted.__init__), cutting_layer(adopted.forward)

    def begin(self: Any, *arguments: Any, **keywords: Any) -> None:
        make(self, *arguments, **keywords)
        if isinstance(self.padding, str):
            # 0.9.0 pads both sides by the smaller half, and takes the dimensions in reverse (recorded).
            sizes = [gap * (kernel - 1) // 2 for gap, kernel in zip(self.dilation, self.kernel_size, strict=True)]
            self.padding = sizes[::-1] if self.padding == "same" else [0] * axes

    def call(self: Any, input: Tensor) -> Any:
        if axes > 1 and input.dim() == axes + 2 and input.shape[1] != self.in_channels:
            raise ValueError(
                f"The input channels {input.shape[1]} should be equal to self.in_channels {self.in_channels}."
            )
        return convolve(self, input)

    adopted.__init__, adopted.forward = begin, call
    return adopted


def _with_groups(make: Callable[..., None]) -> Callable[..., None]:
    """A constructor that raises OneFlow's exception if the channels are not a multiple of the groups."""

    @wraps(make)
    def begin(self: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            make(self, *arguments, **keywords)
        except ValueError as error:
            kind = AssertionError if "groups" in str(error) else ValueError
            raise kind(*error.args) from None

    return begin


Conv1d, Conv2d, Conv3d = map(_convolution, (1, 2, 3))


def _transposed_convolution(axes: int) -> Any:
    """A transposed convolution of torch, with any padding of its input and output."""
    adopted = adopt(getattr(torch.nn, f"ConvTranspose{axes}d"), shown="")
    function = getattr(F, f"conv_transpose{axes}d")

    def call(self: Any, x: Tensor) -> Any:
        sizes = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return function(x, self.weight, self.bias, *sizes)

    adopted.__init__, adopted.forward = _with_groups(adopted.__init__), call
    return adopted


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = map(_transposed_convolution, (1, 2, 3))


def _embedded(self: Any, input: Tensor) -> Any:
    return F.embedding(
        input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
    )


Embedding = adopt(
    torch.nn.Embedding,
    "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse _weight",
)
Embedding.forward = _embedded
Hardsigmoid = adopt(torch.nn.Hardsigmoid)
Hardsigmoid.forward = lambda self, input: F.hardsigmoid(input, self.inplace)


LayerNorm = adopt(torch.nn.LayerNorm, shown="{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}")
LayerNorm.forward = lambda self, input: F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


def _in_groups(self: Any, input: Tensor) -> Any:
    rows: Any = input
    if input.shape[1:2] == (self.num_channels,):
        rows = centred(input.reshape(len(input), self.num_groups, -1), [-1]).reshape(input.shape)
    return torch.group_norm(rows, self.num_groups, self.weight, self.bias, self.eps)


GroupNorm = adopt(torch.nn.GroupNorm, shown="{num_groups}, {num_channels}, eps={eps}, affine={affine}")
GroupNorm.forward = _in_groups


def _instance_norm(layer: type[torch.nn.Module]) -> Any:
    """An instance normalization of torch that also takes a single value a channel: it becomes zero.

    OneFlow 0.9.0 has running statistics, and neither changes nor uses them (recorded).
    """
    adopted = adopt(layer, shown=NORM)

    def apply(self: Any, input: Tensor) -> Any:
        # torch.nn.functional.instance_norm refuses a single value a channel before it calls this.
        options = (None, None, True, 0.0, self.eps, torch.backends.cudnn.enabled)
        return torch.instance_norm(centred(input, range(2, input.ndim)), self.weight, self.bias, *options)

    adopted._apply_instance_norm = apply
    return adopted


InstanceNorm1d = _instance_norm(torch.nn.InstanceNorm1d)
InstanceNorm2d = _instance_norm(torch.nn.InstanceNorm2d)
InstanceNorm3d = _instance_norm(torch.nn.InstanceNorm3d)


class _WithRelu(Module):
    """A batch normalization, plus a tensor if one is given, followed by relu."""

    def forward(self, x: Tensor, addend: Tensor | None = None) -> Any:
        normalized = super().forward(x)
        return torch.relu(normalized if addend is None else normalized + addend)

    def extra_repr(self) -> str:
        return "num_features=" + super().extra_repr()


class FusedBatchNorm1d(_WithRelu, BatchNorm1d):  # type: ignore[misc, valid-type]
    __doc__ = _WithRelu.__doc__


class FusedBatchNorm2d(_WithRelu, BatchNorm2d):  # type: ignore[misc, valid-type]
    __doc__ = _WithRelu.__doc__


class FusedBatchNorm3d(_WithRelu, BatchNorm3d):  # type: ignore[misc, valid-type]
    __doc__ = _WithRelu.__doc__


class SyncBatchNorm(adopt(torch.nn.SyncBatchNorm, "num_features eps momentum affine track_running_stats", shown=NORM)):  # type: ignore[misc]
    """As torch.nn.SyncBatchNorm."""

    @classmethod
    def convert_sync_batchnorm(cls, module: torch.nn.Module, process_group: Any = None) -> Any:
        """The module with this layer instead of every batch normalization, on the same parameters."""
        converted = torch.nn.SyncBatchNorm.convert_sync_batchnorm(module, process_group)
        for layer in converted.modules():
            if type(layer) is torch.nn.SyncBatchNorm:
                layer.__class__ = cls
        return converted


class CosineSimilarity(adopt(torch.nn.CosineSimilarity)):  # type: ignore[misc]
    """See `oneflow.nn.functional.cosine_similarity`."""

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class Dropout(adopt(torch.nn.Dropout)):  # type: ignore[misc]
    """As torch.nn.Dropout, with a separate generator that `oneflow.manual_seed` does not seed (recorded in 0.9.0)."""

    def __init__(self, p: float = 0.5, inplace: bool = False, generator: torch.Generator | None = None) -> None:
        super().__init__(p, inplace)
        self.generator = Generator() if generator is None else generator

    def forward(self, x: Tensor, addend: Tensor | None = None) -> Tensor:
        return F.dropout(x, self.p, self.training, self.inplace, self.generator, addend=addend)


def _channel_dropout(layer: type[torch.nn.Module], axes: int) -> Any:
    """A dropout of whole channels of `axes` dimensions, with the given generator."""
    adopted = adopt(layer)

    def make(self: Any, p: float = 0.5, inplace: bool = False, generator: torch.Generator | None = None) -> None:
        super(adopted, self).__init__(p, inplace)
        self.generator = generator

    draw = adopted.forward

    def call(self: Any, x: Tensor) -> Any:
        if self.generator is None:
            return draw(self, x)
        channels: Any = x.new_ones((*x.shape[:-axes], *[1] * axes))
        return x * F.dropout(channels, self.p, self.training, generator=self.generator)

    adopted.__init__, adopted.forward = make, call
    return adopted


Dropout1d, Dropout2d, Dropout3d = (_channel_dropout(getattr(torch.nn, f"Dropout{axes}d"), axes) for axes in (1, 2, 3))


class Linear(adopt(torch.nn.Linear)):  # type: ignore[misc]
    """As torch.nn.Linear, except for a vector and a square weight: see `oneflow.nn.functional.linear`."""

    def forward(self, input: Tensor) -> Tensor:
        vector = isinstance(input, torch.Tensor) and input.dim() == 1
        return F.linear(input, self.weight, self.bias) if vector else super().forward(input)


class _Shrink(Module):
    """An activation that also overwrites its input, which torch's does not."""

    def __init__(self, lambd: float = 0.5, inplace: bool = False) -> None:
        super().__init__(lambd)
        self.inplace = inplace

    def forward(self, x: Tensor) -> Any:
        # Work on a copy, as autograd needs the values that are overwritten.
        return torch.Tensor.copy_(x, super().forward(x.clone())) if self.inplace else super().forward(x)

    def extra_repr(self) -> str:
        return f"lambd={self.lambd}" + ", inplace=True" * self.inplace


class Hardshrink(_Shrink, adopt(torch.nn.Hardshrink)):  # type: ignore[misc]
    __doc__ = _Shrink.__doc__


class Softshrink(_Shrink, adopt(torch.nn.Softshrink)):  # type: ignore[misc]
    __doc__ = _Shrink.__doc__


class Softsign(adopt(torch.nn.Softsign)):  # type: ignore[misc]
    """As torch.nn.Softsign; `inplace` has no effect in OneFlow 0.9.0 (recorded)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()


class PixelShuffle(Module):
    """Move groups of channels to neighbouring places: [B, C*h*w, H, W] to [B, C, H*h, W*w]."""

    def __init__(
        self,
        upscale_factor: int | None = None,
        h_upscale_factor: int | None = None,
        w_upscale_factor: int | None = None,
    ) -> None:
        super().__init__()
        self.h_upscale_factor = upscale_factor or h_upscale_factor
        self.w_upscale_factor = upscale_factor or w_upscale_factor
        assert self.h_upscale_factor, "PixelShuffle needs upscale_factor, or h_upscale_factor and w_upscale_factor"
        assert self.w_upscale_factor, "PixelShuffle needs upscale_factor, or h_upscale_factor and w_upscale_factor"

    def forward(self, input: Tensor) -> Tensor:
        batch, channels, height, width = input.shape
        high, wide = self.h_upscale_factor or 1, self.w_upscale_factor or 1
        assert channels % (high * wide) == 0, f"PixelShuffle: {channels} channels are no multiple of {high} * {wide}"
        parts = input.reshape(batch, channels // (high * wide), high, wide, height, width)
        return parts.permute(0, 1, 4, 2, 5, 3).reshape(batch, -1, height * high, width * wide)  # type: ignore[return-value]

    def _get_name(self) -> str:
        return "PixelShufflev2"  # the class's name in OneFlow, which a printed model shows

    def extra_repr(self) -> str:
        return f"w_upscale_factor={self.w_upscale_factor}, h_upscale_factor={self.h_upscale_factor}"


class QuickGELU(Module):
    """`x * sigmoid(1.702 * x)`."""

    def forward(self, x: Tensor) -> Tensor:
        return quick_gelu(x)


class RMSLayerNorm(Module):
    """T5's norm: the last dimension divided by the root of its mean square, multiplied by a weight."""

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states: Tensor) -> Tensor:
        scale = torch.rsqrt(hidden_states.float().square().mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * (hidden_states * scale).type_as(self.weight)  # type: ignore[return-value]
