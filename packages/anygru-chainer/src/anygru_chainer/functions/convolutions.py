"""Convolutions and pooling over any number of axes."""

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from ..types import VariableLike
from ..utils import argument, type_check
from ..utils.helpers import Ints, as_tuple, get_conv_outsize, get_deconv_outsize
from ..variable import Variable, as_array
from ._rows import Tensor, Type, expect, function, real
from .arrays import reshape, transpose
from .joining import concat

__all__ = [
    "average_pooling_1d", "average_pooling_2d", "average_pooling_3d", "average_pooling_nd", "convolution_1d",
    "convolution_2d", "convolution_3d", "convolution_nd", "deconvolution_1d", "deconvolution_2d", "deconvolution_3d",
    "deconvolution_nd", "depthwise_convolution_2d", "dilated_convolution_2d", "max_pooling_1d", "max_pooling_2d",
    "max_pooling_3d", "max_pooling_nd", "spatial_pyramid_pooling_2d", "unpooling_1d", "unpooling_2d", "unpooling_3d",
    "unpooling_nd",
]  # fmt: skip
_CONVOLUTIONS = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
_DECONVOLUTIONS = {1: torch.conv_transpose1d, 2: torch.conv_transpose2d, 3: torch.conv_transpose3d}
_MAXIMA = {1: torch.max_pool1d, 2: torch.max_pool2d, 3: torch.max_pool3d}
_F = torch.nn.functional
_MEANS = {1: _F.avg_pool1d, 2: _F.avg_pool2d, 3: _F.avg_pool3d}


def as_pair(value: Ints) -> tuple[int, int]:
    """(value, value), or the given pair; ValueError for another number of items, as in Chainer 7.8.1 (recorded)."""
    first, second = (value, value) if isinstance(value, (int, numpy.integer)) else value
    return first, second


def dilate_and_groups(kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Two keywords of convolutions, 1 by default (ValueError for one of an earlier release, TypeError for others)."""
    deterministic = "deterministic argument is not supported anymore. Use chainer.using_config"
    return argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1), deterministic=deterministic)


def _around(x: Tensor, pads: Sequence[tuple[int, int]], value: float = 0.0) -> Tensor:
    """The tensor with (before, after) elements around its last axes; negative numbers cut off."""
    return _F.pad(x, [p for pair in reversed(pads) for p in pair], value=value)


def _rest(size: int, kernel: int, step: int, pad: int) -> int:
    """How much more padding at the end makes the windows cover the whole axis."""
    return -(size + 2 * pad - kernel) % step


def _pads(x: Tensor, windows: Sequence[int], stride: Sequence[int], pad: Sequence[int], cover_all: bool) -> Any:
    rests = [_rest(*facts) if cover_all else 0 for facts in zip(x.shape[2:], windows, stride, pad, strict=True)]
    return [(p, p + rest) for p, rest in zip(pad, rests, strict=True)]


def _filters(transposed: bool) -> Any:
    def check(node: Any, x: Type, w: Type, b: Type | None = None) -> None:
        ndim = len(node.stride)
        expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == ndim + 2, w.ndim == ndim + 2)
        if transposed:
            expect(x.shape[1] == w.shape[0])
        else:
            expect(x.shape[1] == w.shape[1] * node.groups)
        if b is not None:
            # Over other than two axes the bias may be of another float type (Chainer 7.8.1, recorded).
            expect(b.dtype == x.dtype if ndim == 2 else b.dtype.kind == "f", b.ndim == 1)
            expect(b.shape[0] == (w.shape[1] * node.groups if transposed else w.shape[0]))

    return check


def _geometry(ndim: int, stride: Ints, pad: Ints, last: Any, dilate: Ints, groups: int) -> tuple[Any, ...]:
    return as_tuple(stride, ndim), as_tuple(pad, ndim), last, as_tuple(dilate, ndim), groups


@function("ConvolutionND", _filters(False), named=False, gradient_inputs=(0, 1))
def _convolution(
    x: Tensor, W: Tensor, b: Tensor | None, stride: tuple[int, ...], pad: tuple[int, ...], cover_all: bool,
    dilate: tuple[int, ...], groups: int,
) -> Tensor:  # fmt: skip
    windows = [d * (k - 1) + 1 for d, k in zip(dilate, W.shape[2:], strict=True)]
    # torch pads both ends alike, and `cover_all` asks for more at the end.
    x = _around(x, _pads(x, windows, stride, pad, cover_all))
    if any(size < window for size, window in zip(x.shape[2:], windows, strict=True)):
        raise AssertionError(
            f"Height, width and so on of the output should be positive: padded sizes {tuple(x.shape[2:])} hold no window "
            f"of {tuple(windows)}"
        )
    return _CONVOLUTIONS[len(stride)](x, W.to(x.dtype), None if b is None else b.to(x.dtype), stride, 0, dilate, groups)


@function("DeconvolutionND", _filters(True), named=False, gradient_inputs=(0, 1))
def _deconvolution(
    x: Tensor, W: Tensor, b: Tensor | None, stride: tuple[int, ...], pad: tuple[int, ...],
    outsize: tuple[int, ...] | None, dilate: tuple[int, ...], groups: int,
) -> Tensor:  # fmt: skip
    # Whole, then cut: torch's output_padding must be below the stride, `outsize` need not.
    y = _DECONVOLUTIONS[len(stride)](x, W.to(x.dtype), None, stride, 0, 0, groups, dilate)
    sizes = [s - 2 * p for s, p in zip(y.shape[2:], pad, strict=True)] if outsize is None else outsize
    y = _around(y, [(-p, size + p - s) for s, p, size in zip(y.shape[2:], pad, sizes, strict=True)])
    return y if b is None else y + b.reshape(-1, *(1,) * len(stride))


def convolution_nd(
    x: VariableLike, W: VariableLike, b: VariableLike = None, stride: Ints = 1, pad: Ints = 0, cover_all: bool = False,
    dilate: Ints = 1, groups: int = 1,
) -> Variable:  # fmt: skip
    """x [B, I, d1, d2, ...] convolved with filters W [O, I / groups, k1, k2, ...]: [B, O, d1', d2', ...].

    Args:
        b: bias [O].
        stride, pad: an int, or one for each axis.
        cover_all: pad more at the end, so that the windows cover all elements.
        dilate: distance of the filter's elements.
        groups: number of groups of channels that are convolved apart.

    Raises:
        InvalidType: sizes or dtypes do not fit.
    """
    return _convolution(x, W, b, *_geometry(len(x.shape) - 2, stride, pad, cover_all, dilate, groups))


def convolution_2d(
    x: VariableLike, W: VariableLike, b: VariableLike = None, stride: Ints = 1, pad: Ints = 0, cover_all: bool = False,
    **kwargs: Any,
) -> Variable:  # fmt: skip
    """Pictures x [B, I, H, W] convolved with filters W [O, I / groups, kH, kW]; see `convolution_nd`.

    Args:
        dilate, groups: keywords, 1 by default.

    Raises:
        InvalidType: sizes or dtypes do not fit. ValueError: a keyword of an earlier release.
    """
    dilate, groups = dilate_and_groups(kwargs)
    return _convolution(x, W, b, *_geometry(2, as_pair(stride), as_pair(pad), cover_all, dilate, groups))


def dilated_convolution_2d(
    x: VariableLike, W: VariableLike, b: VariableLike = None, stride: Ints = 1, pad: Ints = 0, dilate: Ints = 1,
    cover_all: bool = False,
) -> Variable:  # fmt: skip
    """`convolution_2d` with its arguments in another order."""
    return convolution_2d(x, W, b, stride, pad, cover_all, dilate=dilate)


def depthwise_convolution_2d(
    x: VariableLike, W: VariableLike, b: VariableLike = None, stride: Ints = 1, pad: Ints = 0
) -> Variable:
    """Each channel of x [B, C, H, W] convolved with M separate filters, W [M, C, kH, kW]: [B, C * M, H', W']."""
    filters = transpose(W, (1, 0, 2, 3))
    filters = reshape(filters, (-1, 1, *filters.shape[2:]))
    return convolution_2d(x, filters, b, stride, pad, groups=x.shape[1])


def deconvolution_nd(
    x: VariableLike, W: VariableLike, b: VariableLike = None, stride: Ints = 1, pad: Ints = 0,
    outsize: Sequence[int] | None = None, dilate: Ints = 1, groups: int = 1,
) -> Variable:  # fmt: skip
    """The transposed convolution of x [B, I, d1, d2, ...] with filters W [I, O / groups, k1, k2, ...].

    Args:
        b: bias [O].
        outsize: sizes of the result's axes, by default the smallest that `convolution_nd` maps to the sizes of x.
        stride, pad, dilate, groups: of that convolution.

    Raises:
        InvalidType: sizes or dtypes do not fit.
    """
    return _deconvolution(x, W, b, *_geometry(len(x.shape) - 2, stride, pad, outsize, dilate, groups))


def deconvolution_2d(
    x: VariableLike, W: VariableLike, b: VariableLike = None, stride: Ints = 1, pad: Ints = 0,
    outsize: Sequence[int] | None = None, **kwargs: Any,
) -> Variable:  # fmt: skip
    """`deconvolution_nd` of pictures; `dilate` and `groups` are keywords (ValueError for one of an earlier release)."""
    dilate, groups = dilate_and_groups(kwargs)
    return _deconvolution(x, W, b, *_geometry(2, as_pair(stride), as_pair(pad), outsize, dilate, groups))


def _windows(ndim: int, ksize: Ints, stride: Ints | None, pad: Ints, last: Any) -> tuple[Any, ...]:
    return ndim, as_tuple(ksize, ndim), as_tuple(ksize if stride is None else stride, ndim), as_tuple(pad, ndim), last


def _enough_axes(node: Any, x: Type) -> None:
    expect(x.ndim == 2 + node.ndim)


def _windows_of(x: Tensor, ksize: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """The elements of each window side by side on a last axis, for more axes than torch has a function for."""
    for axis, (size, step) in enumerate(zip(ksize, stride, strict=True), 2):
        x = x.unfold(axis, size, step)
    return x.flatten(-len(ksize))


def _mean(x: Tensor, ksize: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    known = _MEANS.get(len(ksize))
    if known is None or (len(ksize) == 3 and x.dtype == torch.float16):  # not in torch on the CPU
        return _windows_of(x, ksize, stride).mean(-1)
    return known(x, ksize, stride)


@function("MaxPoolingND", real, _enough_axes, prepare=_windows, gradient_inputs=())
def _max_pooling(
    x: Tensor, ndim: int, ksize: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...], cover_all: bool
) -> Tensor:
    x = _around(x, _pads(x, ksize, stride, pad, cover_all), -torch.inf)
    return _MAXIMA[ndim](x, ksize, stride) if ndim in _MAXIMA else _windows_of(x, ksize, stride).amax(-1)


@function("AveragePoolingND", real, _enough_axes, prepare=_windows, gradient_inputs=())
def _average_pooling(
    x: Tensor, ndim: int, ksize: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...], pad_value: int | None
) -> Tensor:
    pads = [(p, p) for p in pad]
    y = _mean(_around(x, pads), ksize, stride)
    return y if pad_value == 0 else y / _mean(_around(torch.ones_like(x), pads), ksize, stride)


def max_pooling_nd(
    x: VariableLike,
    ksize: Ints,
    stride: Ints | None = None,
    pad: Ints = 0,
    # Unlike torch and the averages here: 5 elements give 3 windows of 2, not 2 (Chainer 7.8.1, seen).
    cover_all: bool = True,
    return_indices: bool = False,
) -> Variable:
    """The largest element of each window of x [B, C, d1, d2, ...].

    Args:
        ksize, stride, pad: an int, or one for each axis; the stride is the window's size by default.
        cover_all: let windows reach past the end, so that they cover all elements.

    Raises:
        NotImplementedError: `return_indices` is True.
    """
    if return_indices:
        raise NotImplementedError(
            "max_pooling_nd(return_indices=True) is not covered by anygru's Chainer dialect; "
            "torch.nn.functional.max_pool2d(return_indices=True) in a FunctionNode gives indices"
        )
    return _max_pooling(x, len(x.shape) - 2, ksize, stride, pad, cover_all)


def average_pooling_nd(
    x: VariableLike, ksize: Ints, stride: Ints | None = None, pad: Ints = 0, pad_value: int | None = 0
) -> Variable:
    """The mean of each window of x [B, C, d1, d2, ...]; see `max_pooling_nd`.

    Args:
        pad_value: 0 if padding counts as zeros, None if it does not count; otherwise ValueError.
    """
    if pad_value not in (0, None):
        raise ValueError(f"pad_value must be either 0 or None, not {pad_value}.")
    return _average_pooling(x, len(x.shape) - 2, ksize, stride, pad, pad_value)


def average_pooling_2d(x: VariableLike, ksize: Ints, stride: Ints | None = None, pad: Ints = 0) -> Variable:
    """`average_pooling_nd` of pictures; padding counts as zeros."""
    return _average_pooling(x, 2, ksize, stride, pad, 0)


def spatial_pyramid_pooling_2d(
    x: VariableLike, pyramid_height: int, pooling_class: None = None, pooling: str | None = None
) -> Variable:
    """The maxima of x [B, C, H, W] over 1, 2 by 2, 4 by 4, ... parts: [B, C * (1 + 4 + 16 + ...), 1, 1] (He et al., 2014).

    Args:
        pyramid_height: number of grids.
        pooling: must be "max" (ValueError).
    """
    if pooling_class is not None:
        raise ValueError("the pooling_class argument is not supported anymore; pass pooling='max'")
    if pooling != "max":
        raise ValueError(f"Unsupported pooling operation: {pooling}; only 'max' is supported")
    levels = []
    for level in range(pyramid_height):
        parts = 2**level
        windows = [-(-size // parts) for size in x.shape[2:]]
        pads = [(window * parts - size) // 2 for window, size in zip(windows, x.shape[2:], strict=True)]
        level_maxima = max_pooling_nd(x, windows, windows, pads)
        levels.append(reshape(level_maxima, (x.shape[0], -1, 1, 1)))
    return concat(levels)


def _windows_fit(node: Any, x: Type) -> None:
    """The pooling of a result of this size gives x."""
    if node.outsize is not None:
        for axis, facts in enumerate(zip(node.outsize, node.ksize, node.stride, node.pad, strict=True), 2):
            expect(x.shape[axis] == get_conv_outsize(*facts, cover_all=node.cover_all))


@function("UnpoolingND", real, _enough_axes, _windows_fit, prepare=lambda ndim, ksize, stride, pad, outsize, cover_all: (
    *_windows(ndim, ksize, stride, pad, outsize), cover_all))  # fmt: skip
def _unpooling(
    x: Tensor, ndim: int, ksize: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...],
    outsize: tuple[int, ...] | None, cover_all: bool,
) -> Tensor:  # fmt: skip
    if outsize is None:
        facts = zip(x.shape[2:], ksize, stride, pad, strict=True)
        outsize = tuple([get_deconv_outsize(*fact, cover_all=cover_all) for fact in facts])
    # A transposed convolution with ones writes each element into its window.
    ones = x.new_ones((x.shape[1], 1, *ksize))
    y = _DECONVOLUTIONS[ndim](x, ones, None, stride, 0, 0, x.shape[1])
    return _around(y, [(-p, size + p - s) for s, p, size in zip(y.shape[2:], pad, outsize, strict=True)])


def unpooling_nd(
    x: VariableLike, ksize: Ints, stride: Ints | None = None, pad: Ints = 0, outsize: Sequence[int] | None = None,
    cover_all: bool = True,
) -> Variable:  # fmt: skip
    """Each element of x [B, C, d1, d2, ...] written into its whole window; where windows overlap they are added.

    Args:
        ksize, stride, pad: an int, or one for each axis; the stride is the window's size by default.
        outsize: sizes of the result's axes, by default such that `max_pooling_nd` gives the sizes of x. cover_all: as
        for `max_pooling_nd`.
    """
    return _unpooling(x, len(x.shape) - 2, ksize, stride, pad, outsize, cover_all)


def _for(ndim: int, general: Any) -> Any:
    """A function over `ndim` axes: ValueError for an array of another number of axes, InvalidType where 2 are due."""

    def call(x: VariableLike, *args: Any, **kwargs: Any) -> Variable:
        given = as_array(x).ndim - 2
        if given != ndim and ndim == 2:
            raise type_check.InvalidType("x.ndim == 4", f"{given + 2} != 4")
        if given != ndim:
            message = "The number of dimensions under channel dimension of the input 'x' should be"
            raise ValueError(f"{message} {ndim}. But the actual ndim was {given}.")
        return general(x, *args, **kwargs)

    call.__name__ = call.__qualname__ = general.__name__.replace("nd", f"{ndim}d")
    call.__doc__ = f"`{general.__name__}` over {ndim} {'axis' if ndim == 1 else 'axes'}."
    return call


convolution_1d, convolution_3d = _for(1, convolution_nd), _for(3, convolution_nd)
deconvolution_1d, deconvolution_3d = _for(1, deconvolution_nd), _for(3, deconvolution_nd)
max_pooling_1d, max_pooling_2d, max_pooling_3d = (_for(n, max_pooling_nd) for n in (1, 2, 3))
average_pooling_1d, average_pooling_3d = _for(1, average_pooling_nd), _for(3, average_pooling_nd)
unpooling_1d, unpooling_2d, unpooling_3d = (_for(n, unpooling_nd) for n in (1, 2, 3))
