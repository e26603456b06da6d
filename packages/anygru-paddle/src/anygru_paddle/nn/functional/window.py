"""Lengths, strides and paddings of windows, as convolution and pooling take them."""

from collections.abc import Sequence
from typing import Any

import torch

Lengths = int | Sequence[int]
Padding = int | str | Sequence[int] | Sequence[Sequence[int]]

CHANNELS_LAST = ("NLC", "NHWC", "NDHWC")


_FIRST = ("NCL", "NCHW", "NCDHW")


def is_last(data_format: str, dims: int) -> bool:
    """Whether the channels are the last axis of [N, ...] with `dims` axes of space.

    Raises:
        ValueError: for another format.
    """
    formats = (_FIRST[dims - 1], CHANNELS_LAST[dims - 1])
    if data_format not in formats:
        raise ValueError(f"Attr(data_format) should be one of {formats}. Received Attr(data_format): {data_format}.")
    return data_format == formats[1]


def lengths(value: Lengths, dims: int, name: str) -> list[int]:
    """The length for each axis; a single number is used for all axes.

    Raises:
        ValueError: for a list of another length, or a value that is not an int.
    """
    if isinstance(value, int):
        return [value] * dims
    found = [int(each) for each in value]
    if len(found) != dims:
        raise ValueError(f"The {name}'s type must be list or tuple of {dims} ints or an int. Received: {value}")
    return found


def margins(
    padding: Padding, sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], channels_last: bool
) -> list[tuple[int, int]]:
    """The padding before and after each axis of `sizes`.

    Args:
        padding: a number; one or two numbers per axis; a pair for every axis of the tensor, zeros for batch and channels;
            'VALID' for no padding; 'SAME' for ceil(length / stride) windows along each axis.

    Raises:
        ValueError: for another form.
    """
    dims = len(sizes)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f"Unknown padding: '{padding}'. It can only be 'SAME' or 'VALID'.")
        if padding.upper() == "VALID":
            return [(0, 0)] * dims
        missing = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(sizes, kernel, stride, strict=True)]
        return [(each // 2, each - each // 2) for each in missing]
    if isinstance(padding, int):
        return [(padding, padding)] * dims
    given = list(padding)
    if len(given) == dims + 2 and all(isinstance(each, (list, tuple)) for each in given):
        pairs: list[Any] = [tuple(each) for each in given if isinstance(each, (list, tuple))]
        outer = [pairs[0], pairs[-1 if channels_last else 1]]
        if outer != [(0, 0), (0, 0)]:
            raise ValueError(f"Non-zero padding({padding}) in the batch or channel dimensions is not supported.")
        return pairs[1:-1] if channels_last else pairs[2:]
    if len(given) == 2 * dims and dims > 0:
        return [(given[2 * axis], given[2 * axis + 1]) for axis in range(dims)]  # type: ignore[misc]
    if len(given) == dims:
        return [(each, each) for each in given]  # type: ignore[misc]
    raise ValueError(f"padding size should be {dims}, {2 * dims} or {dims + 2} pairs, got {padding}")


def padded(
    x: torch.Tensor, pairs: Sequence[tuple[int, int]], value: float = 0.0, window: Sequence[int] | None = None
) -> tuple[torch.Tensor, list[int]]:
    """`x` with the margins that torch's kernels cannot add, and the margins left to the kernel.

    torch adds the same before and after an axis, and for pooling at most half of the `window`.
    """
    widest = [2 * max(pair) for pair in pairs] if window is None else window
    if all(first == last and 2 * first <= most for (first, last), most in zip(pairs, widest, strict=True)):
        return x, [before for before, _ in pairs]
    flat = [each for pair in reversed(pairs) for each in pair]
    return torch.nn.functional.pad(x, flat, value=value), [0] * len(pairs)


def to_first(x: torch.Tensor, channels_last: bool) -> torch.Tensor:
    """The channels as axis 1."""
    return torch.movedim(x, -1, 1) if channels_last else x


def to_last(x: torch.Tensor, channels_last: bool) -> torch.Tensor:
    """The channels back as the last axis, if they were."""
    return torch.movedim(x, 1, -1) if channels_last else x
