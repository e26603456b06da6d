"""Padding that torch refuses: negative, and an output padding of a stride or more (recorded in 0.9.0)."""

import copy
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch

from .empty import each

Function = Callable[..., Any]


def cutting(function: Function, axes: int, place: int) -> Function:
    """A convolution or pooling of torch in which negative padding cuts the edges of the input.

    Args:
        place: the place of the argument `padding`, behind the input.
    """

    @wraps(function)
    def call(input: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        given = keywords["padding"] if len(arguments) <= place and "padding" in keywords else None
        padding = arguments[place] if len(arguments) > place else given
        if padding is None or isinstance(padding, str) or min(sizes := each(padding, axes)) >= 0:
            return function(input, *arguments, **keywords)
        added = tuple(max(size, 0) for size in sizes)
        if len(arguments) > place:
            return function(_cut(input, sizes), *arguments[:place], added, *arguments[place + 1 :], **keywords)
        return function(_cut(input, sizes), *arguments, **{**keywords, "padding": added})

    return call


def cutting_layer(forward: Function) -> Function:
    """The forward pass of a layer that has `padding`, as `cutting` of a function."""

    @wraps(forward)
    def call(self: Any, input: torch.Tensor, *arguments: Any) -> Any:
        sizes = self.padding
        if isinstance(sizes, str) or min(each(sizes, 1)) >= 0:
            return forward(self, input, *arguments)
        twin = copy.copy(self)
        twin.padding = tuple(max(size, 0) for size in sizes)
        return forward(twin, _cut(input, sizes), *arguments)

    return call


def _cut(input: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    return torch.nn.functional.pad(input, [min(size, 0) for size in reversed(sizes) for _ in "<>"])


def widening(function: Function, axes: int) -> Function:
    """A transposed convolution of torch, with any padding of its input and output."""

    @wraps(function)
    def call(
        input: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        options = [each(value, axes) for value in (stride, padding, output_padding, dilation)]
        if all(pad >= 0 <= extra < max(step, gap) for step, pad, extra, gap in zip(*options, strict=True)):
            return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
        whole = function(input, weight, None, stride, 0, 0, groups, dilation)
        edges = [edge for pad, extra in zip(*map(reversed, options[1:3]), strict=True) for edge in (-pad, extra - pad)]
        wide = torch.nn.functional.pad(whole, edges)
        return wide if bias is None else wide + bias.reshape(-1, *[1] * axes)

    return call
