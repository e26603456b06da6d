"""Convolution of pictures."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import argument, type_check
from ...variable import Variable


def as_pair(value: Any) -> tuple[int, int]:
    """(value, value), or the pair that it is."""
    return tuple(value) if hasattr(value, "__getitem__") else (value, value)


class Convolution2DFunction(TorchFunction):
    def __init__(self, stride: Any, pad: Any, cover_all: bool, dilate: Any, groups: int) -> None:
        self.stride = as_pair(stride)
        self.pad = as_pair(pad)
        self.cover_all = cover_all
        self.dilate = as_pair(dilate)
        self.groups = groups

    def check_type_forward(self, in_types: Any) -> None:
        n_in = in_types.size()
        expect(n_in >= 2, n_in <= 3)
        x, w = in_types[:2]
        expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 4, w.ndim == 4)
        expect(x.shape[1] == w.shape[1] * self.groups)
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == w.shape[0])

    def compute(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:  # type: ignore[override]
        pad = [(p, p + self._more(x.shape[i + 2], w.shape[i + 2], i)) for i, p in enumerate(self.pad)]
        padded = torch.nn.functional.pad(x, (*pad[1], *pad[0]))
        w = w.to(x.dtype)
        return torch.nn.functional.conv2d(padded, w, b, self.stride, 0, self.dilate, self.groups)

    def _more(self, size: int, kernel: int, i: int) -> int:
        """How much more padding at the end makes the windows cover the whole picture, if that is asked for."""
        rest = size + 2 * self.pad[i] - self.dilate[i] * (kernel - 1) - 1
        return -rest % self.stride[i] if self.cover_all else 0


def convolution_2d(
    x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0, cover_all: bool = False, **kwargs: Any
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
    inputs = (x, W) if b is None else (x, W, b)
    return Convolution2DFunction(stride, pad, cover_all, dilate, groups).apply(inputs)[0]
