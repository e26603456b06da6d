"""Convolutions."""

from typing import Any

import torch

from ..utils import argument
from ..variable import Variable
from ._checks import Type, expect
from ._rows import Tensor, function

__all__ = ["convolution_2d"]
Ints = int | tuple[int, ...]
"""One number for all axes, or one each."""


def as_pair(value: Ints) -> tuple[int, ...]:
    """(value, value), or the pair that it is."""
    return (value, value) if isinstance(value, int) else tuple(value)


def _filters(node: Any, x: Type, w: Type, b: Type | None = None) -> None:
    expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 4, w.ndim == 4)
    expect(x.shape[1] == w.shape[1] * node.groups)
    if b is not None:
        expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == w.shape[0])


@function(
    "Convolution2DFunction",
    _filters,
    prepare=lambda stride, pad, cover_all, dilate, groups: (
        as_pair(stride), as_pair(pad), cover_all, as_pair(dilate), groups
    ),
    named=False,
)  # fmt: skip
def _convolution(
    x: Tensor, W: Tensor, b: Tensor | None, stride: Any, pad: Any, cover_all: bool, dilate: Any, groups: int
) -> Tensor:
    rests = [x.shape[i + 2] + 2 * pad[i] - dilate[i] * (W.shape[i + 2] - 1) - 1 for i in range(2)]
    more = [-rest % step if cover_all else 0 for rest, step in zip(rests, stride, strict=True)]
    padded = torch.nn.functional.pad(x, (pad[1], pad[1] + more[1], pad[0], pad[0] + more[0]))
    return torch.nn.functional.conv2d(padded, W.to(x.dtype), b, stride, 0, dilate, groups)


def convolution_2d(
    x: Any, W: Any, b: Any = None, stride: Ints = 1, pad: Ints = 0, cover_all: bool = False, **kwargs: Any
) -> Variable:
    """Pictures x [B, I, H, W] convolved with filters W [O, I / groups, kH, kW]: [B, O, H', W'].

    Args:
        b: bias [O].
        stride, pad: an int or a pair (rows, columns).
        cover_all: pad more at the end, so that no row or column is left out.
        dilate: distance of the filter's elements, 1 by default; an int or a pair.
        groups: number of groups of channels that are convolved apart, 1 by default.

    Raises:
        InvalidType: sizes or dtypes do not fit. ValueError: a keyword of an earlier release.
    """
    dilate, groups = argument.parse_kwargs(
        kwargs,
        ("dilate", 1),
        ("groups", 1),
        deterministic="deterministic argument is not supported anymore. Use chainer.using_config",
    )
    return _convolution(x, W, b, stride, pad, cover_all, dilate, groups)
