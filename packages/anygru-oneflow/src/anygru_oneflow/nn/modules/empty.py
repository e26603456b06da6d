"""Results without elements: OneFlow returns them; torch refuses a layer with a result without elements (recorded in 0.9.0)."""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch

from ...framework.dressing import dress

Shape = Callable[..., Sequence[int]]


def or_empty(
    function: Callable[..., Any], shape: Shape, with_places: Callable[..., bool] | None = None
) -> Callable[..., Any]:
    """The function, or an empty tensor where its result has no elements.

    Args:
        shape: the result's shape, from the function's arguments.
        with_places: whether the arguments ask for places as well as values.
    """

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except RuntimeError:
            sizes = shape(*arguments, **keywords)
            if math.prod(sizes) or min(sizes) < 0:
                raise
        input = next(value for value in (*arguments, *keywords.values()) if isinstance(value, torch.Tensor))
        nothing = dress(input.flatten()[:0].reshape(sizes))  # with a gradient of zeros
        if with_places is None or not with_places(*arguments, **keywords):
            return nothing
        return nothing, dress(torch.zeros(sizes, dtype=torch.int64))

    return call


def max_pooled(axes: int) -> Shape:
    """The shape of a maximum pooling over `axes` dimensions."""

    def shape(
        input: torch.Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> list[int]:
        return _pooled(input, axes, kernel_size, stride, padding, dilation, ceil_mode)

    return shape


def average_pooled(axes: int) -> Shape:
    """The shape of an average pooling over `axes` dimensions."""

    def shape(
        input: torch.Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        *_rest: Any,
    ) -> list[int]:
        return _pooled(input, axes, kernel_size, stride, padding, 1, ceil_mode)

    return shape


def pooled_by(axes: int) -> Shape:
    """The shape of a pooling layer's result."""

    def shape(layer: Any, input: torch.Tensor) -> list[int]:
        dilation = getattr(layer, "dilation", 1)
        return _pooled(input, axes, layer.kernel_size, layer.stride, layer.padding, dilation, layer.ceil_mode)

    return shape


def _pooled(
    input: torch.Tensor, axes: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> list[int]:
    sizes = list(input.shape)
    options = (each(value, axes) for value in (kernel_size, stride or kernel_size, padding, dilation))
    for axis, (kernel, step, pad, gap) in enumerate(zip(*options, strict=True), len(sizes) - axes):
        room = sizes[axis] + 2 * pad - gap * (kernel - 1) - 1
        sizes[axis] = (math.ceil(room / step) if ceil_mode else room // step) + 1
    return sizes


def interpolated(
    input: torch.Tensor, size: Any = None, scale_factor: Any = None, *_rest: Any, **_others: Any
) -> list[int]:
    """The shape of an image made larger or smaller."""
    axes = input.dim() - 2
    if size is not None:
        return [*input.shape[:2], *each(size, axes)]
    return [*input.shape[:2], *(int(n * by) for n, by in zip(input.shape[2:], each(scale_factor, axes), strict=True))]


def unfolded(input: torch.Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> list[int]:
    """The shape of the blocks of images [B, C, H, W] in columns."""
    kernel = each(kernel_size, 2)
    rows, columns = _pooled(input, 2, kernel, stride, padding, dilation, False)[-2:]
    return [input.shape[0], input.shape[1] * kernel[0] * kernel[1], max(rows, 0) * max(columns, 0)]


def each(value: Any, axes: int) -> Sequence[Any]:
    return [value] * axes if isinstance(value, (int, float)) else list(value)
