"""Pooling of one to three dimensions, by torch's kernels. Source: Paddle 2.6, `functional.pooling`, read and recorded."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...tensor.operation import operation, plain
from .window import Lengths, Padding, is_last, lengths, margins, padded, to_first, to_last

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

_FORMATS = ("NCL", "NCHW", "NCDHW")


def _max(
    dims: int,
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None,
    padding: Padding,
    return_mask: bool,
    ceil_mode: bool,
    data_format: str,
) -> Any:
    last = is_last(data_format, dims)
    if return_mask and last:
        raise ValueError(
            f"When setting return_mask to true, data_format must be set to {_FORMATS[dims - 1]} in API:max_pool{dims}d"
        )
    inner, window = to_first(plain(x), last), lengths(kernel_size, dims, "kernel_size")
    steps = window if stride is None else lengths(stride, dims, "pool_stride")
    pairs = margins(padding, inner.shape[2:], window, steps, last)
    inner, even = padded(inner, pairs, -float("inf"), window)
    pool = getattr(torch.nn.functional, f"max_pool{dims}d")
    out = pool(inner, window, steps, even, 1, ceil_mode, return_mask)
    return (out[0], out[1].to(torch.int32)) if return_mask else to_last(out, last)


def _average(
    dims: int,
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None,
    padding: Padding,
    exclusive: bool,
    ceil_mode: bool,
    divisor: int | None,
    data_format: str,
) -> Any:
    last = is_last(data_format, dims)
    inner, window = to_first(plain(x), last), lengths(kernel_size, dims, "kernel_size")
    steps = window if stride is None else lengths(stride, dims, "pool_stride")
    pairs = margins(padding, inner.shape[2:], window, steps, last)
    pool: Callable[..., torch.Tensor] = getattr(torch.nn.functional, f"avg_pool{dims}d")
    shifted, even = padded(inner, pairs, 0.0, window)
    uneven = shifted is not inner
    out = pool(shifted, window, steps, even, ceil_mode, not exclusive)
    if uneven and exclusive:  # the share of a window that lies on the input
        ones = padded(torch.ones_like(inner[:1, :1]), pairs, 0.0, window)[0]
        out = out / pool(ones, window, steps, even, ceil_mode)
    if divisor is not None:
        whole = pool(shifted, window, steps, even, ceil_mode, True)
        out = whole * float(torch.tensor(window).prod()) / divisor
    return to_last(out, last)


@operation
def max_pool1d(
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """The largest element of each window of x [N, C, L], and with `return_mask` its position."""
    return _max(1, x, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


@operation
def max_pool2d(
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """The largest element of each window of x [N, C, H, W], and with `return_mask` its position in the plane."""
    return _max(2, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


@operation
def max_pool3d(
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """The largest element of each window of x [N, C, D, H, W], and with `return_mask` its position in the volume."""
    return _max(3, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


@operation
def avg_pool1d(
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """The mean of each window of x [N, C, L]; padding does not count with `exclusive`."""
    return _average(1, x, kernel_size, stride, padding, exclusive, ceil_mode, None, "NCL")


@operation
def avg_pool2d(
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """The mean of each window of x [N, C, H, W]; padding does not count with `exclusive`."""
    return _average(2, x, kernel_size, stride, padding, exclusive, ceil_mode, divisor_override, data_format)


@operation
def avg_pool3d(
    x: torch.Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int | None = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """The mean of each window of x [N, C, D, H, W]; padding does not count with `exclusive`."""
    return _average(3, x, kernel_size, stride, padding, exclusive, ceil_mode, divisor_override, data_format)


def _sizes(output_size: Any, inner: torch.Tensor) -> list[int]:
    """The lengths wanted; None keeps an axis."""
    dims = inner.dim() - 2
    given = output_size.tolist() if isinstance(output_size, (torch.Tensor, np.ndarray)) else output_size
    given = list(given) if isinstance(given, (list, tuple)) else [given] * dims
    return [int(n) if size is None else int(size) for size, n in zip(given, inner.shape[2:], strict=True)]


def _adaptive_average(dims: int) -> Callable[..., Any]:
    pool = getattr(torch.nn.functional, f"adaptive_avg_pool{dims}d")

    def with_format(x: torch.Tensor, output_size: Lengths, data_format: str = "NCHW", name: str | None = None) -> Any:
        last = is_last(data_format, dims)
        inner = to_first(plain(x), last)
        return to_last(pool(inner, _sizes(output_size, inner)), last)

    def without(x: torch.Tensor, output_size: Lengths, name: str | None = None) -> Any:
        return with_format(x, output_size, "NCL")

    function = without if dims == 1 else with_format
    if dims == 3:
        with_format.__defaults__ = ("NCDHW", None)
    function.__name__ = function.__qualname__ = f"adaptive_avg_pool{dims}d"
    function.__doc__ = "Means of windows as large as it takes for `output_size` of them."
    return operation(function)


def _adaptive_max(dims: int) -> Callable[..., Any]:
    pool = getattr(torch.nn.functional, f"adaptive_max_pool{dims}d")

    def function(x: torch.Tensor, output_size: Lengths, return_mask: bool = False, name: str | None = None) -> Any:
        inner = plain(x)
        out = pool(inner, _sizes(output_size, inner), return_mask)
        return (out[0], out[1].to(torch.int32)) if return_mask else out

    function.__name__ = function.__qualname__ = f"adaptive_max_pool{dims}d"
    function.__doc__ = "Largest elements of windows as large as it takes for `output_size` of them."
    return operation(function)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_average(dims) for dims in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max(dims) for dims in (1, 2, 3))
