"""Weights as a frozen layer stores them: float32 as they are, bfloat16, or int8 with a scale for each row.

int8 is symmetric: a value q of a row with scale s stands for q * s, q between -127 and 127. Biases stay float32.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .errors import ArgumentError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
"""The names of the formats, and the dtype of a weight matrix in each."""


class Stored(NamedTuple):
    """A weight matrix or a bias as it is stored."""

    values: Tensor
    """[3H, K], or a bias [3H], which is float32 in every format."""
    scale: Tensor | None = None
    """float32 [3H], positive, where values are int8; else None."""


def check_format(weights: str) -> torch.dtype:
    """The dtype of weight matrices in a format.

    Raises:
        ArgumentError: no format has this name.
    """
    if not isinstance(weights, str) or weights not in DTYPES:
        raise ArgumentError(f"weights must be one of {', '.join(DTYPES)}, got {weights!r}")
    return DTYPES[weights]


def quantize(tensor: Tensor, weights: str) -> Stored:
    """A float32 weight matrix, or a bias, in the named format; the memory is shared where nothing changes.

    Raises:
        ArgumentError: no format has this name, or int8 cannot hold the values because one is infinite or NaN.
    """
    dtype = check_format(weights)
    tensor = tensor.detach()
    if tensor.dim() == 1 or dtype is not torch.int8:
        return Stored(tensor if tensor.dim() == 1 else tensor.to(dtype))
    greatest = tensor.abs().amax(1) if tensor.shape[1] else tensor.new_zeros(len(tensor))
    if not tensor.is_meta and not bool(torch.isfinite(greatest).all()):
        raise ArgumentError("int8 holds finite weights only, and one is infinite or NaN")
    # A row of zeros, or of numbers whose 127th part is none any more, gets a scale that may divide.
    scale = (greatest / 127).clamp(min=torch.finfo(torch.float32).tiny)
    return Stored(torch.round(tensor / scale.unsqueeze(1)).clamp(-127, 127).to(torch.int8), scale)


GREATEST = 32512.0
"""What the greatest magnitude of a row becomes where the row is rounded to 16 bits; see csrc/int8_rows.hpp."""


def round_rows(rows: Tensor) -> Tensor:
    """Rows of the input or the state as they meet int8 weights: rounded to 16 bits, but where one has an infinity or NaN."""
    if rows.shape[-1] == 0:
        return rows
    greatest = rows.abs().amax(-1, keepdim=True)
    unit = greatest.clamp(min=1e-30) / GREATEST
    return torch.where(torch.isfinite(greatest), torch.round(rows / unit) * unit, rows)


def check(stored: Stored) -> list[tuple[str, str]]:
    """What is wrong with the numbers of a stored weight: ("" for its values or "_scale", the reason)."""
    values, scale = stored
    found = []
    if values.dtype is torch.int8 and not values.is_meta and bool((values == -128).any()):
        found.append(("", "int8 weights must lie between -127 and 127, and one is -128"))
    if scale is not None and not scale.is_meta and not bool(((scale > 0) & torch.isfinite(scale)).all()):
        worst = scale[~((scale > 0) & torch.isfinite(scale))][0].item()
        found.append(("_scale", f"scales must be positive and finite, and one is {worst:g}"))
    return found


def dequantize(stored: Stored) -> Tensor:
    """The values that `stored` stands for; int8 and bfloat16 as float32, others in their own dtype."""
    values, scale = stored
    if scale is not None:
        return values.float() * scale.unsqueeze(1)
    return values.float() if values.dtype is torch.bfloat16 else values


def dequantize_all(stored: Sequence[Stored]) -> list[Tensor]:
    """`dequantize` of each."""
    return [dequantize(one) for one in stored]
