"""Pooling layers: the functions of `paddle.nn.functional.pooling` with their options fixed."""

from typing import Any

from ..functional import pooling as F
from .of_function import layer_of

__all__ = [
    "AdaptiveAvgPool1D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool1D", "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D", "AvgPool1D", "AvgPool2D", "AvgPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D",
    "MaxUnPool1D", "MaxUnPool2D", "MaxUnPool3D",
]  # fmt: skip

_SHOWN = "kernel_size stride padding"
_WINDOW: dict[str, Any] = {"kernel_size": ..., "stride": None, "padding": 0}
_AVERAGE: dict[str, Any] = {**_WINDOW, "ceil_mode": False, "exclusive": True, "divisor_override": None}
_LARGEST: dict[str, Any] = {**_WINDOW, "return_mask": False, "ceil_mode": False}

AvgPool1D = layer_of("AvgPool1D", F.avg_pool1d, "{}", _SHOWN, __name__, **_WINDOW, exclusive=True, ceil_mode=False)
AvgPool2D = layer_of("AvgPool2D", F.avg_pool2d, "{}", _SHOWN, __name__, **_AVERAGE, data_format="NCHW")
AvgPool3D = layer_of("AvgPool3D", F.avg_pool3d, "{}", _SHOWN, __name__, **_AVERAGE, data_format="NCDHW")
MaxPool1D = layer_of("MaxPool1D", F.max_pool1d, "{}", _SHOWN, __name__, **_LARGEST)
MaxPool2D = layer_of("MaxPool2D", F.max_pool2d, "{}", _SHOWN, __name__, **_LARGEST, data_format="NCHW")
MaxPool3D = layer_of("MaxPool3D", F.max_pool3d, "{}", _SHOWN, __name__, **_LARGEST, data_format="NCDHW")

_MASKED: dict[str, Any] = {"output_size": ..., "return_mask": False}
_SIZES = "output_size return_mask"
AdaptiveAvgPool1D = layer_of("AdaptiveAvgPool1D", F.adaptive_avg_pool1d, "{}", "output_size", __name__, output_size=...)
AdaptiveAvgPool2D = layer_of(
    "AdaptiveAvgPool2D", F.adaptive_avg_pool2d, "_{}", "output_size", __name__, output_size=..., data_format="NCHW"
)
AdaptiveAvgPool3D = layer_of(
    "AdaptiveAvgPool3D", F.adaptive_avg_pool3d, "_{}", "output_size", __name__, output_size=..., data_format="NCDHW"
)
AdaptiveMaxPool1D = layer_of("AdaptiveMaxPool1D", F.adaptive_max_pool1d, "{}", _SIZES, __name__, **_MASKED)
AdaptiveMaxPool2D = layer_of("AdaptiveMaxPool2D", F.adaptive_max_pool2d, "_{}", _SIZES, __name__, **_MASKED)
AdaptiveMaxPool3D = layer_of("AdaptiveMaxPool3D", F.adaptive_max_pool3d, "_{}", _SIZES, __name__, **_MASKED)
MaxUnPool1D, MaxUnPool2D, MaxUnPool3D = (
    layer_of(
        f"MaxUnPool{dims}D", getattr(F, f"max_unpool{dims}d"), "{}", "output_size", __name__, **_WINDOW,
        data_format=form, output_size=None,
    )
    for dims, form in enumerate(("NCL", "NCHW", "NCDHW"), 1)
)  # fmt: skip
