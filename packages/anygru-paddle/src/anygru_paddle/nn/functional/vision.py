"""Rearranging and resizing images."""

from collections.abc import Sequence
from typing import Any

import torch

from ...framework.dtype import single
from ...tensor.operation import as_sizes, need_float, need_tensor, operation, plain
from .window import CHANNELS_LAST, to_first, to_last

__all__ = [
    "affine_grid", "channel_shuffle", "fold", "grid_sample", "interpolate", "pixel_shuffle", "pixel_unshuffle",
    "temporal_shift", "unfold", "upsample",
]  # fmt: skip


def _need_format(x: torch.Tensor, data_format: str, name: str) -> bool:
    need_tensor(x, "x", name)
    if x.ndim != 4:
        raise ValueError(f"Input x should be 4D tensor, but received x with the shape of {list(x.shape)}")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"Attr(data_format) should be 'NCHW' or 'NHWC'.But recevie Attr(data_format): {data_format} ")
    return data_format == "NHWC"


def _need_int(value: object, name: str) -> None:
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int type")


@operation
def pixel_shuffle(
    x: torch.Tensor, upscale_factor: int, data_format: str = "NCHW", name: str | None = None
) -> torch.Tensor:
    """[N, C * r * r, H, W] as [N, C, H * r, W * r]."""
    _need_int(upscale_factor, "upscale factor")
    last = _need_format(x, data_format, "pixel_shuffle")
    return to_last(torch.pixel_shuffle(to_first(plain(x), last), upscale_factor), last)


@operation
def pixel_unshuffle(
    x: torch.Tensor, downscale_factor: int, data_format: str = "NCHW", name: str | None = None
) -> torch.Tensor:
    """[N, C, H * r, W * r] as [N, C * r * r, H, W]."""
    last = _need_format(x, data_format, "pixel_unshuffle")
    _need_int(downscale_factor, "Downscale factor")
    if downscale_factor <= 0:
        raise ValueError("Downscale factor must be positive")
    if x.is_leaf and x.requires_grad:
        x.__dict__["_gradient_stops"] = True  # its gradient's flag, see `Differentiable.grad`
    return to_last(torch.pixel_unshuffle(to_first(plain(x), last), downscale_factor), last)


@operation
def temporal_shift(
    x: torch.Tensor, seg_num: int, shift_ratio: float = 0.25, name: str | None = None, data_format: str = "NCHW"
) -> torch.Tensor:
    """Of clips of `seg_num` images [N * seg_num, C, H, W] a share of the channels one image on, the next share one back."""
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"Attr(data_format) should be 'NCHW' or 'NHWC'. Received Attr(data_format): {data_format}.")
    need_float(x, "temporal_shift")
    if x.ndim != 4:
        raise ValueError(f"(InvalidArgument) temporal_shift(): x must be [N * T, C, H, W], got shape {list(x.shape)}")
    inner = to_first(plain(x), data_format == "NHWC")
    clips = torch.unflatten(inner, 0, [-1, seg_num])
    on, back = int(inner.shape[1] * shift_ratio), int(inner.shape[1] * 2 * shift_ratio)
    nothing = torch.zeros_like(clips[:, :1])
    later = torch.cat([nothing[:, :, :on], clips[:, :-1, :on]], 1)
    earlier = torch.cat([clips[:, 1:, on:back], nothing[:, :, on:back]], 1)
    shifted = torch.cat([later, earlier, clips[:, :, back:]], 2).flatten(0, 1)
    return to_last(shifted, data_format == "NHWC")


@operation
def channel_shuffle(x: torch.Tensor, groups: int, data_format: str = "NCHW", name: str | None = None) -> torch.Tensor:
    """The channels of `groups` groups interleaved."""
    last = _need_format(x, data_format, "channel_shuffle")
    _need_int(groups, "groups")
    if groups <= 0:
        raise ValueError("groups must be positive")
    inner = to_first(plain(x), last)
    batch, channels, height, width = inner.shape
    parts = inner.reshape(batch, groups, channels // groups, height, width)
    return to_last(parts.transpose(1, 2).reshape(inner.shape), last)


def _from_edges(x: torch.Tensor, size: list[int] | None, factor: float | Sequence[float] | None) -> torch.Tensor:
    """Linear interpolation at position i * ratio along every axis (`align_mode=1`); torch's begins half a pixel earlier."""
    axes = x.ndim - 2
    factors: list[Any] = [*factor] if isinstance(factor, (list, tuple)) else [factor] * axes
    for axis, each in enumerate(factors, 2):
        length = x.shape[axis]
        count = int(length * each) if size is None else size[axis - 2]
        ratio = 1 / each if size is None else length / count
        places = torch.arange(count, dtype=x.dtype, device=x.device) * single(ratio)
        low = places.to(torch.int64)
        share = (places - low).reshape([-1] + [1] * (x.ndim - axis - 1))
        high = torch.clamp(low + 1, max=length - 1)
        x = x.index_select(axis, low) * (1 - share) + x.index_select(axis, high) * share
    return x


_AXES = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


@operation
def interpolate(
    x: torch.Tensor,
    size: int | Sequence[int] | torch.Tensor | None = None,
    scale_factor: float | Sequence[float] | torch.Tensor | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> torch.Tensor:
    """`x` enlarged or reduced to `size`, or by `scale_factor`.

    Raises:
        ValueError: for a mode that does not fit the number of axes, or unless exactly one of size and factor is given.
    """
    mode = mode.lower()
    if mode not in (*_AXES, "nearest", "area"):
        known = "'linear', 'area', 'bilinear', 'trilinear', 'bicubic', 'nearest'"
        raise ValueError(f"The 'resample' of image_resize can only be {known} currently.")
    if _AXES.get(mode, x.ndim) != x.ndim:
        raise ValueError(f"'{mode}' only supports {_AXES[mode]}-D tensors, got {x.ndim}-D")
    if (size is None) == (scale_factor is None):
        raise ValueError("One of size and scale_factor must not be None, and one must be.")
    if align_corners and mode == "nearest":
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | ...")
    last = data_format in CHANNELS_LAST
    factor = scale_factor.tolist() if isinstance(scale_factor, torch.Tensor) else scale_factor
    wanted = None if size is None else as_sizes(size)
    wanted = wanted * (x.ndim - 2) if wanted is not None and len(wanted) == 1 else wanted
    inner = to_first(plain(x), last)
    if align_mode == 1 and not align_corners and mode.endswith("linear"):
        return to_last(_from_edges(inner, wanted, factor), last)  # which torch has not
    corners = align_corners if mode in _AXES else None
    return to_last(torch.nn.functional.interpolate(inner, wanted, factor, mode, corners), last)


upsample = interpolate


def _pair(value: Any) -> Any:
    return [value, value] if isinstance(value, int) else list(value)


@operation
def unfold(
    x: torch.Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> torch.Tensor:
    """The windows of images [N, C, H, W] as columns [N, C * window, windows]."""
    margins = _pair(paddings)
    if len(margins) == 4:  # top, left, bottom, right
        x = torch.nn.functional.pad(plain(x), (margins[1], margins[3], margins[0], margins[2]))
        margins = [0, 0]
    sizes = _pair(kernel_sizes), _pair(dilations), margins, _pair(strides)
    return torch.nn.functional.unfold(plain(x), *sizes)


@operation
def fold(
    x: torch.Tensor, output_sizes: Any, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1,
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """Images [N, C, H, W] as the sums of windows [N, C * window, windows] that `unfold` gave."""
    sizes = _pair(output_sizes), _pair(kernel_sizes), _pair(dilations), _pair(paddings), _pair(strides)
    return torch.nn.functional.fold(plain(x), *sizes)


@operation
def affine_grid(
    theta: torch.Tensor, out_shape: Any, align_corners: bool = True, name: str | None = None
) -> torch.Tensor:
    """The places [N, H, W, 2] of the pixels of images after affine maps [N, 2, 3], for `grid_sample`."""
    # Corners are aligned by default, here and in `grid_sample`; torch's default is the opposite.
    return torch.nn.functional.affine_grid(plain(theta), as_sizes(out_shape), align_corners)


@operation
def grid_sample(
    x: torch.Tensor, grid: torch.Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = True,
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The values [N, C, h, w] of images [N, C, H, W] at places from -1 to 1, [N, h, w, 2], x before y."""
    return torch.nn.functional.grid_sample(plain(x), plain(grid), mode, padding_mode, align_corners)
