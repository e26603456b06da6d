"""Layers that pad, enlarge and rearrange: functions of `paddle.nn.functional` with their options fixed."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ...tensor.tensor import Tensor
from ..functional import common, vision
from ..functional.activation import softmax
from ..functional.norm import local_response_norm
from .layers import Layer
from .of_function import FunctionLayer, layer_of

__all__ = [
    "ChannelShuffle", "Dropout3D", "Fold", "LocalResponseNorm", "Pad1D", "Pad2D", "Pad3D", "PairwiseDistance",
    "PixelShuffle", "PixelUnshuffle", "Softmax2D", "Unfold", "Upsample", "UpsamplingBilinear2D", "UpsamplingNearest2D",
    "ZeroPad2D",
]  # fmt: skip


def _pad(dims: int, data_format: str) -> type[Layer]:
    class Pad(Layer):
        def __init__(
            self,
            padding: int | Sequence[int] | torch.Tensor,
            mode: str = "constant",
            value: float = 0.0,
            data_format: str = data_format,
            name: str | None = None,
        ) -> None:
            super().__init__()
            self._pad = [padding] * (2 * dims) if isinstance(padding, (int, np.integer)) else padding
            self._mode, self._value, self._data_format, self._name = mode, value, data_format, name

        def forward(self, x: torch.Tensor) -> Tensor:
            """The padded input."""
            return common.pad(x, self._pad, self._mode, self._value, self._data_format)

        def extra_repr(self) -> str:
            """The options."""
            text = f"padding={self._pad}, mode={self._mode}, value={self._value}, data_format={self._data_format}"
            return text + (f", name={self._name}" if self._name else "")

    Pad.__name__ = Pad.__qualname__ = f"Pad{dims}D"
    Pad.__doc__ = f"`paddle.nn.functional.pad` of {dims} axes, by two lengths each or one for all."
    return Pad


Pad1D, Pad2D, Pad3D = _pad(1, "NCL"), _pad(2, "NCHW"), _pad(3, "NCDHW")


class ZeroPad2D(Pad2D):  # type: ignore[misc, valid-type]
    """Zeros at the edges of images."""

    def __init__(self, padding: int | Sequence[int], data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(padding, "constant", 0.0, data_format, name)

    def extra_repr(self) -> str:
        """The options."""
        text = f"padding={self._pad}, data_format={self._data_format}"
        return text + (f", name={self._name}" if self._name else "")


_SIZE: dict[str, Any] = {"size": None, "scale_factor": None}
_RESIZED: dict[str, Any] = {**_SIZE, "mode": "nearest", "align_corners": False, "align_mode": 0, "data_format": "NCHW"}


def _linear(
    x: torch.Tensor, size: Sequence[int] | None = None, scale_factor: float | None = None, data_format: str = "NCHW"
) -> torch.Tensor:
    return vision.interpolate(x, size, scale_factor, "bilinear", True, 0, data_format)


def _nearest(
    x: torch.Tensor, size: Sequence[int] | None = None, scale_factor: float | None = None, data_format: str = "NCHW"
) -> torch.Tensor:
    return vision.interpolate(x, size, scale_factor, "nearest", False, 0, data_format)


def _extent(layer: Any) -> str:
    return f"size={layer.size}" if layer.scale_factor is None else f"scale_factor={layer.scale_factor}"


class Upsample(layer_of("Upsample", vision.interpolate, "{}", "", __name__, **_RESIZED)):  # type: ignore[misc]
    """`paddle.nn.functional.interpolate` as a layer."""

    def extra_repr(self) -> str:
        """The options."""
        text = f"{_extent(self)}, mode={self.mode}, align_corners={self.align_corners}, align_mode={self.align_mode}"
        return f"{text}, data_format={self.data_format}" + (f", name={self._name}" if self._name else "")


def _in_pairs(given: dict[str, Any]) -> None:
    """Use a single number for both the height and the width."""
    if isinstance(given["size"], int):
        given["size"] = [given["size"]] * 2


def _upsampling(name: str, function: Callable[..., Any]) -> type[FunctionLayer]:
    layer = layer_of(name, function, "{}", "", __name__, check=_in_pairs, **_SIZE, data_format="NCHW")
    layer.extra_repr = lambda self: (  # type: ignore[method-assign]
        f"{_extent(self)}, data_format={self.data_format}" + (f", name={self._name}" if self._name else "")
    )
    return layer


UpsamplingBilinear2D = _upsampling("UpsamplingBilinear2D", _linear)
UpsamplingNearest2D = _upsampling("UpsamplingNearest2D", _nearest)
_LAST: dict[str, Any] = {"data_format": "NCHW"}
PixelShuffle = layer_of(
    "PixelShuffle", vision.pixel_shuffle, "_{}", "upscale_factor", __name__, upscale_factor=..., **_LAST
)
PixelUnshuffle = layer_of(
    "PixelUnshuffle", vision.pixel_unshuffle, "_{}", "downscale_factor", __name__, downscale_factor=..., **_LAST
)
ChannelShuffle = layer_of("ChannelShuffle", vision.channel_shuffle, "_{}", "groups", __name__, groups=..., **_LAST)
Dropout3D = layer_of("Dropout3D", common.dropout3d, "{}", "p data_format", __name__, p=0.5, data_format="NCDHW")
_NORM: dict[str, Any] = {"p": 2.0, "epsilon": 1e-6, "keepdim": False}


class PairwiseDistance(layer_of("PairwiseDistance", common.pairwise_distance, "{}", "", __name__, **_NORM)):  # type: ignore[misc]
    """`paddle.nn.functional.pairwise_distance` as a layer."""

    def extra_repr(self) -> str:
        """The options that differ from the defaults, and p."""
        text = f"p={self.p}" + (f", epsilon={self.epsilon}" if self.epsilon != 1e-6 else "")
        text += f", keepdim={self.keepdim}" if self.keepdim is not False else ""
        return text + (f", name={self._name}" if self._name else "")


_WINDOWS: dict[str, Any] = {"dilations": 1, "paddings": 0, "strides": 1}


class Unfold(layer_of("Unfold", vision.unfold, "{}", None, __name__, kernel_sizes=..., **_WINDOWS)):  # type: ignore[misc]
    """`paddle.nn.functional.unfold` as a layer."""

    def extra_repr(self) -> str:
        """The options."""
        return f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, padding={self.paddings}, stride={self.strides}"


Fold = layer_of("Fold", vision.fold, "{}", None, __name__, output_sizes=..., kernel_sizes=..., **_WINDOWS)
LocalResponseNorm = layer_of(
    "LocalResponseNorm", local_response_norm, "{}", "size alpha beta k", __name__, size=..., alpha=0.0001, beta=0.75, k=1.0,
    data_format="NCHW",
)  # fmt: skip


class Softmax2D(Layer):
    """Softmax over the channels of images [N, C, H, W]."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self._name = name

    def forward(self, x: torch.Tensor) -> Tensor:
        """Shares that sum to 1 over the channels."""
        if x.ndim not in (3, 4):
            raise AssertionError(f"Softmax2D requires a 3D or 4D tensor as input. Received: {x.ndim}D.")
        return softmax(x, axis=-3)
