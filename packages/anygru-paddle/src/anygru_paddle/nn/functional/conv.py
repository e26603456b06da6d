"""Convolutions of one to three dimensions, by torch's kernels. Source: Paddle 2.6, `functional.conv`, read and recorded."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from ...base.arguments import function_of
from ...base.errors import paddles
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
        lacks = [n + 2 * m - d * (k - 1) for n, m, d, k in zip(inner.shape[2:], even, wide, window, strict=True)]
        if min(lacks) < 0:  # detected when the result's memory is allocated (recorded, 2.6.2)
            raise paddles(
                RuntimeError(f"(PreconditionNotMet) {function.__name__}(): the kernel is longer than the input")
            )
        own = None if bias is None else plain(bias)
        return to_last(kernel(inner, plain(weight), own, steps, even, wide, groups), last)

    what = f"The convolution of x [N, C, ...] with a weight [out, C / groups, ...], plus bias, over {dims} axes."
    return row(name, function, what)


def _transposed(dims: int) -> Function:
    name = f"conv{dims}d_transpose"
    kernel = getattr(torch, f"conv_transpose{dims}d")

    def compute(given: SimpleNamespace) -> torch.Tensor:
        x, weight, bias, output_size = given.x, given.weight, given.bias, given.output_size
        last = _check(x, weight, dims, given.data_format, name)
        inner, window = to_first(plain(x), last), list(weight.shape[2:])
        steps, wide = lengths(given.stride, dims, "stride"), lengths(given.dilation, dims, "dilation")
        pairs = margins(given.padding, inner.shape[2:], window, steps, last)
        extra = lengths(given.output_padding, dims, "output_padding")
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
        out = kernel(inner, plain(weight), own, steps, even, extra, given.groups, wide)
        for axis, (pair, cut) in enumerate(zip(pairs, even, strict=True), 2):
            length = out.shape[axis] - sum(pair) + 2 * cut
            out = out.narrow(axis, pair[0] - cut, length)
        return to_last(out, last)

    what = f"The transposed convolution of x [N, C, ...] with a weight [C, out / groups, ...] over {dims} axes."
    first: dict[str, Any] = {"x": ..., "weight": ..., "bias": None, "stride": 1, "padding": 0, "output_padding": 0}
    # conv2d_transpose alone has dilation before groups.
    middle = {"dilation": 1, "groups": 1} if dims == 2 else {"groups": 1, "dilation": 1}
    last = {"output_size": None, "data_format": _FORMATS[dims - 1], "name": None}
    return row(name, function_of(name, compute, **first, **middle, **last), what)


conv1d, conv2d, conv3d = (_convolution(dims) for dims in (1, 2, 3))
conv1d_transpose, conv2d_transpose, conv3d_transpose = (_transposed(dims) for dims in (1, 2, 3))
