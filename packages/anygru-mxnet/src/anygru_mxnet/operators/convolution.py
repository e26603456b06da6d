"""Convolutions, pooling and upsampling as operators, by torch."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ..base import MXNetError, Sizes
from .neural import bias_of, without_bias
from .registry import Shape, operator, truth

_CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}
_LARGEST = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
_AVERAGE: dict[int, Any] = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}


def _tuple_of(value: Any, count: int, default: int) -> tuple[int, ...]:
    if value in (None, ()):
        return (default,) * count
    return tuple(int(v) for v in value) if isinstance(value, (tuple, list)) else (int(value),) * count


def _channels_first(name: str, layout: str | None) -> None:
    if layout not in (None, "None", "NCW", "NCHW", "NCDHW"):
        raise MXNetError(f"{name}: layout must be NCW, NCHW or NCDHW, got {layout!r}")


def _kernel(attributes: Mapping[str, Any]) -> tuple[int, ...]:
    kernel = attributes["kernel"]
    return tuple(kernel) if isinstance(kernel, (tuple, list)) else (kernel,)


def _convolution_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    data, filters = shapes[0], int(attributes["num_filter"])
    if data is None:
        return shapes
    weight = (filters, data[1] // int(attributes.get("num_group", 1)), *_kernel(attributes))
    return [data, weight, *[(filters,)] * (len(shapes) - 2)]


def _transposed_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    data, filters = shapes[0], int(attributes["num_filter"])
    if data is None:
        return shapes
    weight = (data[1], filters // int(attributes.get("num_group", 1)), *_kernel(attributes))
    return [data, weight, *[(filters,)] * (len(shapes) - 2)]


def _convolution_back(attributes: Mapping[str, Any], inputs: list[Shape], results: list[Shape]) -> list[Shape]:
    """The batch size of the input, and its other sizes if the strides determine them."""
    result = results[0]
    if result is None or inputs[0] is None:
        return inputs
    kernel = _kernel(attributes)
    stride, dilate, pad = (
        _tuple_of(attributes.get(key), len(kernel), default)
        for key, default in (("stride", 1), ("dilate", 1), ("pad", 0))
    )
    places = [
        size + d * (k - 1) - 2 * p if size and s == 1 else 0
        for size, k, s, d, p in zip(result[2:], kernel, stride, dilate, pad, strict=True)
    ]
    return [(result[0], 0, *places), *inputs[1:]]


@operator(
    "Convolution",
    inputs=3,
    demands=("kernel", "num_filter"),
    needs=without_bias,
    infer=_convolution_shapes,
    back=_convolution_back,
)
def _convolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    kernel: Sizes = None,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    num_filter: int = 0,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> Tensor:
    spatial = data.dim() - 2
    _channels_first("Convolution", layout)
    return _CONVOLUTIONS[spatial](
        data,
        weight,
        bias_of("Convolution", bias, no_bias),
        _tuple_of(stride, spatial, 1),
        _tuple_of(pad, spatial, 0),
        _tuple_of(dilate, spatial, 1),
        int(num_group),
    )


@operator(
    "Deconvolution",
    demands=("kernel", "num_filter"),
    inputs=3,
    needs=lambda attributes: without_bias({"no_bias": True, **attributes}),
    infer=_transposed_shapes,
)
def _deconvolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    kernel: Sizes = None,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    adj: Sizes = (),
    target_shape: Sizes = (),
    num_filter: int = 0,
    num_group: int = 1,
    workspace: int = 512,
    # Unlike Convolution, MXNet 1.9.1's Deconvolution has no bias by default.
    no_bias: bool = True,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> Tensor:
    spatial = data.dim() - 2
    _channels_first("Deconvolution", layout)
    if target_shape not in (None, ()):
        raise MXNetError("Deconvolution: target_shape is not covered; give pad and adj")
    return _TRANSPOSED[spatial](
        data,
        weight,
        bias_of("Deconvolution", bias, no_bias),
        _tuple_of(stride, spatial, 1),
        _tuple_of(pad, spatial, 0),
        _tuple_of(adj, spatial, 0),
        int(num_group),
        _tuple_of(dilate, spatial, 1),
    )


@operator("Pooling")
def _pooling(
    data: Tensor,
    kernel: Sizes = (),
    pool_type: str = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: str = "valid",
    stride: Sizes = (),
    pad: Sizes = (),
    p_value: int | None = None,
    count_include_pad: bool = True,
    layout: str | None = None,
) -> Tensor:
    spatial = data.dim() - 2
    _channels_first("Pooling", layout)
    if pool_type not in ("max", "avg", "sum", "lp"):
        raise MXNetError(f"Pooling: pool_type must be max, avg, sum or lp, got {pool_type!r}")
    if pool_type == "lp":
        # torch's lp_pool has no padding and no three axes.
        power = int(p_value or 0)
        if power not in (1, 2, 3):
            raise MXNetError(f"Pooling: pool_type='lp' needs p_value, 1, 2 or 3, got {p_value}")
        options = {"global_pool": global_pool, "stride": stride, "pad": pad, "pooling_convention": pooling_convention}
        return _pooling(data.abs() ** power, kernel, "sum", **options).pow(1 / power)
    if truth(global_pool):
        # With global_pool, kernel, stride and pad have no effect, as in MXNet 1.9.1.
        axes = tuple(range(2, data.dim()))
        if pool_type == "max":
            return data.amax(axes, keepdim=True)
        return (data.sum if pool_type == "sum" else data.mean)(axes, keepdim=True)
    window, step, edge = _tuple_of(kernel, spatial, 1), _tuple_of(stride, spatial, 1), _tuple_of(pad, spatial, 0)
    ceil = pooling_convention == "full"
    if pool_type == "max":
        return _LARGEST[spatial](data, window, step, edge, ceil_mode=ceil)
    if pool_type == "sum":
        # Windows at the edge have fewer elements. With the edge as zeros, every average divides by the full size.
        short = [
            max(0, (math.ceil((n + 2 * p - w) / s)) * s + w - n - 2 * p) if ceil else 0
            for n, p, w, s in zip(data.shape[2:], edge, window, step, strict=True)
        ]
        sides = [side for p, more in zip(reversed(edge), reversed(short), strict=True) for side in (p, p + more)]
        return _AVERAGE[spatial](functional.pad(data, sides), window, step) * math.prod(window)
    return _AVERAGE[spatial](data, window, step, edge, ceil_mode=ceil, count_include_pad=truth(count_include_pad))


@operator("UpSampling")
def _upsampling(
    *data: Tensor,
    scale: int = 1,
    num_filter: int = 0,
    sample_type: str = "nearest",
    multi_input_mode: str = "concat",
    workspace: int = 512,
) -> Tensor:
    if sample_type != "nearest":
        raise MXNetError(f"UpSampling: only sample_type='nearest' is covered, got {sample_type!r}; use Deconvolution")
    # The first input sets the size; each other input is scaled to it.
    height = data[0].shape[2] * int(scale)
    parts = [functional.interpolate(part, scale_factor=height // part.shape[2]) for part in data]
    return sum(parts[1:], parts[0]) if multi_input_mode == "sum" else torch.cat(parts, 1)
