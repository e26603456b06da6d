"""Pooling of one to three dimensions, by torch's kernels. Source: Paddle 2.6, `functional.pooling`, read and recorded."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ...tensor.operation import plain, row
from .window import Lengths, Padding, is_last, lengths, margins, padded, to_first, to_last

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip

_FORMATS = ("NCL", "NCHW", "NCDHW")


def _max(dims: int) -> Callable[..., Any]:
    pool: Callable[..., Any] = getattr(torch.nn.functional, f"max_pool{dims}d")

    def function(
        x: torch.Tensor, kernel_size: Lengths, stride: Lengths | None = None, padding: Padding = 0, return_mask: bool = False,
        ceil_mode: bool = False, data_format: str = _FORMATS[dims - 1], name: str | None = None,
    ) -> Any:  # fmt: skip
        last = is_last(data_format, dims)
        if return_mask and last:
            raise ValueError(
                f"When setting return_mask to true, data_format must be set to {_FORMATS[dims - 1]} in API:max_pool{dims}d"
            )
        inner, pairs, window, steps = _windows(x, dims, kernel_size, stride, padding, last)
        if ceil_mode and not return_mask:
            pairs = _to_last_window(inner, pairs, window, steps)
        # The largest starts from float32's lowest number, of float64 too (recorded, 2.6.2): a window of margins alone has it.
        lowest = max(torch.finfo(inner.dtype).min, torch.finfo(torch.float32).min)
        inner, even = padded(inner, pairs, lowest, window)
        out = pool(inner, window, steps, even, 1, ceil_mode, return_mask)
        if ceil_mode and not return_mask:
            out = torch.clamp(out, min=lowest)
        # Positions are int32 in Paddle 2.6.2 (recorded), int64 in torch.
        return (out[0], out[1].to(torch.int32)) if return_mask else to_last(out, last)

    def without_format(
        x: torch.Tensor, kernel_size: Lengths, stride: Lengths | None = None, padding: Padding = 0, return_mask: bool = False,
        ceil_mode: bool = False, name: str | None = None,
    ) -> Any:  # fmt: skip
        return function(x, kernel_size, stride, padding, return_mask, ceil_mode)

    what = "The largest element of each window of x [N, C, ...], and with `return_mask` its position."
    return row(f"max_pool{dims}d", without_format if dims == 1 else function, what)


def _average(dims: int) -> Callable[..., Any]:
    pool: Callable[..., torch.Tensor] = getattr(torch.nn.functional, f"avg_pool{dims}d")

    def function(
        x: torch.Tensor, kernel_size: Lengths, stride: Lengths | None = None, padding: Padding = 0, ceil_mode: bool = False,
        exclusive: bool = True, divisor_override: int | None = None, data_format: str = _FORMATS[dims - 1],
        name: str | None = None,
    ) -> Any:  # fmt: skip
        last = is_last(data_format, dims)
        inner, pairs, window, steps = _windows(x, dims, kernel_size, stride, padding, last)
        wide = _to_last_window(inner, pairs, window, steps) if ceil_mode else pairs
        shifted, even = padded(inner, wide, 0.0, window)
        out = pool(shifted, window, steps, even, ceil_mode, not exclusive)
        # The share of a window on the input, or on its margins.
        if shifted is not inner and (exclusive or wide != pairs):
            out = out / pool(_counted(inner, pairs, wide, exclusive), window, steps, even, ceil_mode)
        if divisor_override is not None:
            whole = pool(shifted, window, steps, even, ceil_mode, True)
            out = whole * float(torch.tensor(window).prod()) / divisor_override
        return to_last(out, last)

    def exclusive_first(
        x: torch.Tensor, kernel_size: Lengths, stride: Lengths | None = None, padding: Padding = 0, exclusive: bool = True,
        ceil_mode: bool = False, name: str | None = None,
    ) -> Any:  # fmt: skip
        return function(x, kernel_size, stride, padding, ceil_mode, exclusive)

    what = "The mean of each window of x [N, C, ...]; padding does not count with `exclusive`."
    return row(f"avg_pool{dims}d", exclusive_first if dims == 1 else function, what)


def _windows(
    x: torch.Tensor, dims: int, kernel_size: Lengths, stride: Lengths | None, padding: Padding, last: bool
) -> tuple[torch.Tensor, list[tuple[int, int]], list[int], list[int]]:
    """The input with its channels first, the margins, and the lengths of windows and steps."""
    inner, window = to_first(plain(x), last), lengths(kernel_size, dims, "kernel_size")
    steps = window if stride is None else lengths(stride, dims, "pool_stride")
    return inner, margins(padding, inner.shape[2:], window, steps, last), window, steps


def _to_last_window(
    inner: torch.Tensor, pairs: list[tuple[int, int]], window: list[int], steps: list[int]
) -> list[tuple[int, int]]:
    """The margins, long enough for the last window of `ceil_mode`: unlike Paddle, torch drops windows that start beyond it.

    Such a window has no element: its largest is the lowest number, its mean nan (recorded, 2.6.2).
    """
    grown = []
    for length, (left, right), size, step in zip(inner.shape[2:], pairs, window, steps, strict=True):
        last = -(-(length + left + right - size) // step) * step
        grown.append((left, max(right, last + size - length - left) if last >= length + left else right))
    return grown


def _counted(
    inner: torch.Tensor, pairs: list[tuple[int, int]], wide: list[tuple[int, int]], exclusive: bool
) -> torch.Tensor:
    """Ones where an element counts in a mean: on the input, on its margins as well with `pairs`, zeros on the rest of `wide`."""
    own = [(0, 0)] * len(pairs) if exclusive else pairs
    rest = [(left - mine, right - yours) for (left, right), (mine, yours) in zip(wide, own, strict=True)]
    ones = torch.nn.functional.pad(
        torch.ones_like(inner[:1, :1]), [each for pair in own[::-1] for each in pair], value=1.0
    )
    return torch.nn.functional.pad(ones, [each for pair in rest[::-1] for each in pair])


def _sizes(output_size: Any, inner: torch.Tensor) -> list[int]:
    """The requested lengths; None keeps an axis."""
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
    return row(f"adaptive_avg_pool{dims}d", function, "The means of `output_size` windows that cover x.")


def _adaptive_max(dims: int) -> Callable[..., Any]:
    pool = getattr(torch.nn.functional, f"adaptive_max_pool{dims}d")

    def function(x: torch.Tensor, output_size: Lengths, return_mask: bool = False, name: str | None = None) -> Any:
        inner = plain(x)
        out = pool(inner, _sizes(output_size, inner), return_mask)
        return (out[0], out[1].to(torch.int32)) if return_mask else out

    return row(f"adaptive_max_pool{dims}d", function, "The largest elements of `output_size` windows that cover x.")


def _unpool(dims: int) -> Callable[..., Any]:
    pool: Callable[..., torch.Tensor] = getattr(torch.nn.functional, f"max_unpool{dims}d")

    def function(
        x: torch.Tensor, indices: torch.Tensor, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0,
        data_format: str = _FORMATS[dims - 1], output_size: Sequence[int] | None = None, name: str | None = None,
    ) -> torch.Tensor:  # fmt: skip
        if data_format != _FORMATS[dims - 1]:
            raise ValueError(
                f"Attr(data_format) should be '{_FORMATS[dims - 1]}'. Received Attr(data_format): {data_format}."
            )
        size = None if output_size is None else [int(each) for each in output_size]
        return pool(plain(x), plain(indices).to(torch.int64), kernel_size, stride, padding, size)

    return row(f"max_unpool{dims}d", function, "The elements of `max_poolNd` back at their places, zeros elsewhere.")


max_pool1d, max_pool2d, max_pool3d = (_max(dims) for dims in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_average(dims) for dims in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_average(dims) for dims in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max(dims) for dims in (1, 2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = (_unpool(dims) for dims in (1, 2, 3))
