"""Convolution of pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...functions.convolutions import as_pair, convolution_2d
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, VariableLike
from ...utils import argument
from ...variable import Parameter, Variable, as_array

__all__ = ["Convolution2D"]


class Convolution2D(Link):
    """Convolution with filters W [out_channels, in_channels / groups, kH, kW] and biases b [out_channels].

    Args:
        in_channels: None to take it from the first input. `Convolution2D(n, k)` is `Convolution2D(None, n, k)`.
        out_channels: number of filters.
        ksize, stride, pad: an int or a pair (rows, columns).
        nobias: leave b out (it is None).
        initialW: LeCunNormal by default.
        initial_bias: 0 by default.
        dilate, groups: see `functions.convolution_2d`.

    Raises:
        ValueError: `groups` does not divide the numbers of channels.
    """

    W: Any
    b: Any

    def __init__(
        self,
        in_channels: int | None,
        out_channels: Any,
        ksize: int | tuple[int, int] | None = None,
        stride: int | tuple[int, int] = 1,
        pad: int | tuple[int, int] = 0,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        dilate, groups = argument.parse_kwargs(
            kwargs,
            ("dilate", 1),
            ("groups", 1),
            deterministic="deterministic argument is not supported anymore. Use chainer.using_config",
        )
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = as_pair(stride)
        self.pad = as_pair(pad)
        self.dilate = as_pair(dilate)
        self.groups = int(groups)
        with self.init_scope():
            self.W = Parameter(fillers.get_initializer(initialW))
            if in_channels is not None:
                self._initialize_params(in_channels)
            if nobias:
                self.b = None
            else:
                bias = fillers.get_initializer(0 if initial_bias is None else initial_bias)
                self.b = Parameter(bias, out_channels)

    def _initialize_params(self, in_channels: int) -> None:
        if self.out_channels % self.groups or in_channels % self.groups:
            raise ValueError(
                f"groups must divide the numbers of channels, got {self.groups} groups of {in_channels} input and "
                f"{self.out_channels} output channels"
            )
        self.W.initialize((self.out_channels, in_channels // self.groups, *as_pair(self.ksize)))

    @classmethod
    def from_params(
        cls,
        W: VariableLike,
        b: VariableLike = None,
        stride: int | tuple[int, int] = 1,
        pad: int | tuple[int, int] = 0,
        nobias: bool = False,
        **kwargs: Any,
    ) -> Convolution2D:
        """A link with copies of existing arrays or Variables."""
        out_channels, in_channels, *ksize = W.shape
        in_channels *= kwargs.get("groups", 1)
        return cls(in_channels, out_channels, tuple(ksize), stride, pad, nobias, as_array(W), as_array(b), **kwargs)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        for name in ("in_channels", "out_channels", "ksize", "stride", "pad"):
            yield name, getattr(self, name)
        yield from [("nobias", self.b is None), ("dilate", self.dilate), ("groups", self.groups)]

    def forward(self, x: VariableLike) -> Variable:
        """[B, out_channels, H', W'] from x [B, in_channels, H, W]."""
        if self.W.array is None:
            self._initialize_params(x.shape[1])
        return convolution_2d(x, self.W, self.b, self.stride, self.pad, dilate=self.dilate, groups=self.groups)
