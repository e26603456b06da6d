"""Convolutions of one to three dimensions, by torch's kernels. Source: Paddle 2.6, `functional.conv`, read and recorded."""

from collections.abc import Callable
from typing import Any

import torch

from ...tensor.operation import need_same_dtype, plain, row
from .window import Lengths, Padding, is_last, lengths, margins, padded, to_first, to_last

__all__ = ["conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]

Function = Callable[..., Any]
_FORMATS = ("NCL", "NCHW", "NCDHW")


def _check(x: torch.Tensor, weight: torch.Tensor, dims: int, data_format: str, name: str) -> bool:
    """Whether the channels are the last axis; raises for another format or number of axes."""
    need_same_dtype(x, weight, name)
    last = is_last(data_format, dims)
    if x.ndim != dims + 2:
        raise ValueError(f"Input x should be {dims + 2}D tensor, but received x with the shape of {list(x.shape)}")
    return last


def _convolution(dims: int) -> Function:
    name = f"conv{dims}d"
    kernel = getattr(torch, name)

    def function(
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        stride: Lengths = 1,
        padding: Padding = 0,
        dilation: Lengths = 1,
        groups: int = 1,
        data_format: str = _FORMATS[dims - 1],
        name: str | None = None,
    ) -> torch.Tensor:
        last = _check(x, weight, dims, data_format, function.__name__)
        inner, window = to_first(plain(x), last), list(weight.shape[2:])
        steps = lengths(stride, dims, "stride")
        same = isinstance(padding, str) and padding.upper() == "SAME"
        # 'SAME' drops the dilation (recorded, 2.6.2).
        wide = [1] * dims if same else lengths(dilation, dims, "dilation")
        inner, even = padded(inner, margins(padding, inner.shape[2:], window, steps, last))
        own = None if bias is None else plain(bias)
        return to_last(kernel(inner, plain(weight), own, steps, even, wide, groups), last)

    what = f"The convolution of x [N, C, ...] with a weight [out, C / groups, ...], plus bias, over {dims} axes."
    return row(name, function, what)


def _transposed(dims: int) -> Function:
    name = f"conv{dims}d_transpose"
    kernel = getattr(torch, f"conv_transpose{dims}d")

    def function(
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        stride: Lengths = 1,
        padding: Padding = 0,
        output_padding: Lengths = 0,
        groups: int = 1,
        dilation: Lengths = 1,
        output_size: Lengths | torch.Tensor | None = None,
        data_format: str = _FORMATS[dims - 1],
        name: str | None = None,
    ) -> torch.Tensor:
        last = _check(x, weight, dims, data_format, function.__name__)
        inner, window = to_first(plain(x), last), list(weight.shape[2:])
        steps, wide = lengths(stride, dims, "stride"), lengths(dilation, dims, "dilation")
        pairs = margins(padding, inner.shape[2:], window, steps, last)
        extra = lengths(output_padding, dims, "output_padding")
        if output_size is not None:
            if any(extra):
                raise ValueError("output_padding option is mutually exclusive with output_size")
            wanted = output_size.tolist() if isinstance(output_size, torch.Tensor) else output_size
            extra = [
                size - ((n - 1) * s - sum(pair) + d * (k - 1) + 1)
                for size, n, s, pair, d, k in zip(
                    lengths(wanted, dims, "output_size"), inner.shape[2:], steps, pairs, wide, window, strict=True
                )
            ]
        even = [min(pair) for pair in pairs]
        own = None if bias is None else plain(bias)
        out = kernel(inner, plain(weight), own, steps, even, extra, groups, wide)
        for axis, (pair, cut) in enumerate(zip(pairs, even, strict=True), 2):
            length = out.shape[axis] - sum(pair) + 2 * cut
            out = out.narrow(axis, pair[0] - cut, length)
        return to_last(out, last)

    what = f"The transposed convolution of x [N, C, ...] with a weight [C, out / groups, ...] over {dims} axes."
    return row(name, _dilation_first(function) if dims == 2 else function, what)


def _dilation_first(function: Function) -> Function:
    """The order of conv2d_transpose, in which `dilation` comes before `groups`."""

    def conv2d_transpose(
        x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, stride: Lengths = 1, padding: Padding = 0,
        output_padding: Lengths = 0, dilation: Lengths = 1, groups: int = 1, output_size: Lengths | torch.Tensor | None = None,
        data_format: str = "NCHW", name: str | None = None,
    ) -> Any:  # fmt: skip
        return function(x, weight, bias, stride, padding, output_padding, groups, dilation, output_size, data_format)

    return conv2d_transpose


conv1d, conv2d, conv3d = (_convolution(dims) for dims in (1, 2, 3))
conv1d_transpose, conv2d_transpose, conv3d_transpose = (_transposed(dims) for dims in (1, 2, 3))
